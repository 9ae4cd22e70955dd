# docker build -t embviz . && docker run --rm -p 7860:7860 embviz
FROM python:3.12-slim

# Hugging Face runs a container as user 1000.
RUN useradd --create-home --uid 1000 user
USER user
ENV HOME=/home/user \
    PATH=/home/user/.local/bin:$PATH \
    HF_HOME=/home/user/.cache/huggingface \
    GRADIO_ANALYTICS_ENABLED=False \
    GRADIO_RUN_HISTORY=False \
    GRADIO_SERVER_NAME=0.0.0.0 \
    GRADIO_SERVER_PORT=7860 \
    GRADIO_SSR_MODE=False \
    OPENBLAS_NUM_THREADS=1 \
    OMP_NUM_THREADS=1 \
    PYTHONUNBUFFERED=1
WORKDIR /home/user/app

# The lists first: a change of the code does not install everything again.
# On x86-64 the package index serves torch as a CUDA build of several GB. A machine without a GPU is happy
# with the CPU build: set PIP_EXTRA_INDEX_URL to the index of CPU builds that pytorch.org names, with
# docker build --build-arg PIP_EXTRA_INDEX_URL=…
ARG PIP_EXTRA_INDEX_URL=""
COPY --chown=user requirements.txt constraints.txt ./
RUN pip install --no-cache-dir --user --constraint constraints.txt --requirement requirements.txt

COPY --chown=user . .
RUN pip install --no-cache-dir --user --no-deps .

EXPOSE 7860
CMD ["python", "-m", "embviz", "serve"]
