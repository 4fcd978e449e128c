# The page and its JSON API on a CPU:
#
#   docker build -t tellapart .
#   docker run --rm -v ~/photos:/photos:ro -v tellapart:/data tellapart index /photos --out /data/photos.index
#   docker run --rm -p 8000:8000 -v ~/photos:/photos:ro -v tellapart:/data tellapart
#
# Other machines need the token that the second command prints, or the one in `--token`.
# podman builds it, too, with `--format docker`, since its own format has no health check.
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE NOTICE ./
COPY src ./src
RUN python -m venv /opt/tellapart \
 && /opt/tellapart/bin/pip install --no-cache-dir -c constraints.txt '.[serve]'

FROM python:3.12-slim
RUN useradd --create-home --uid 1000 tellapart \
 && mkdir /data /photos \
 && chown tellapart /data
COPY --from=build /opt/tellapart /opt/tellapart
ENV PATH=/opt/tellapart/bin:$PATH PYTHONUNBUFFERED=1
USER tellapart
VOLUME /data
EXPOSE 8000
# Without a token a healthy server answers 401.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000, timeout=4); c.request('GET', '/'); raise SystemExit(c.getresponse().status >= 500)"]
ENTRYPOINT ["tellapart"]
CMD ["serve", "/data/photos.index", "--host", "0.0.0.0", "--port", "8000"]
