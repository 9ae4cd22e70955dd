"""The page: layout in Gradio, drawing in the browser, no mathematics."""
