"""The page to compare with: one textbox in plain Gradio; Enter turns its text round on the server."""

import sys

import gradio as gr

with gr.Blocks(analytics_enabled=False) as page:
    box = gr.Textbox(label="Text")
    box.submit(lambda text: text[::-1], box, box)

if __name__ == "__main__":
    page.launch(server_port=int(sys.argv[1]), quiet=True)
