# An image for `blender: { driver: docker, image: gameyard-blender }`:
#
#     docker build -f docker/blender.Dockerfile -t gameyard-blender docker
#
# Debian's Blender with NumPy, which its glTF export needs. For another version, put Blender's own release into
# /opt/blender and set `blender.command: /opt/blender/blender`. The server adds nothing to the image: what runs in it
# comes with each job, as nobody, without network, on a read-only root.
FROM debian:12-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends blender python3-numpy \
 && rm -rf /var/lib/apt/lists/*
USER 65534:65534
ENTRYPOINT []
CMD ["blender", "--version"]
