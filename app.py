"""The page, for `python app.py` and for a Hugging Face Space."""

from embviz.ui.server import serve

if __name__ == "__main__":
    serve()
