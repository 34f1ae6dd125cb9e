# Two images from one file:
#   docker build --target hub    -t tidemark-hub .
#   docker build --target worker -t tidemark-worker .
# Neither holds a secret in any layer, and both run as a user without rights.

FROM node:24-bookworm-slim AS source
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm install --no-save --ignore-scripts --no-audit --no-fund
COPY . .

FROM source AS build
ENV NODE_ENV=production NEXT_TELEMETRY_DISABLED=1
# `generate` never runs the schema engine; naming a file keeps it from being downloaded.
RUN export PRISMA_SCHEMA_ENGINE_BINARY=/bin/true \
 && node node_modules/prisma/build/index.js generate \
 && node node_modules/prisma/build/index.js generate --schema prisma/postgres/schema.prisma \
 && node e2e/gate/build.ts \
 && rm -rf .next/cache

FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# What only builds, draws other databases or resizes images is not carried along: a quarter of the size is left.
RUN npm install --no-save --omit=dev --ignore-scripts --no-audit --no-fund && npm cache clean --force \
 && cd node_modules \
 && rm -rf prisma effect typescript @typescript playwright playwright-core @playwright @electric-sql @img sharp \
      @next/swc-* @prisma/dev @prisma/engines @prisma/fetch-engine @prisma/query-plan-executor \
      @prisma/streams-local @prisma/studio-core \
 && find @prisma/client/runtime -name 'query_compiler*' ! -name '*sqlite*' ! -name '*postgresql*' -delete \
 && find . -name '*.map' -delete

FROM node:24-bookworm-slim AS hub
WORKDIR /app
ENV NODE_ENV=production \
    NEXT_TELEMETRY_DISABLED=1 \
    TIDEMARK_HOST=0.0.0.0 \
    TIDEMARK_PORT=7140 \
    TIDEMARK_DATA=/data
RUN mkdir /data && chown node:node /data
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/.next ./.next
COPY --from=build /app/prisma ./prisma
COPY package.json next.config.mjs LICENSE ./
COPY protocol ./protocol
COPY storage ./storage
COPY server ./server
COPY public ./public
USER node
VOLUME /data
EXPOSE 7140
# Without the container's variables: some are secrets, and others of this user see what a process was started with.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["env", "-i", "/usr/local/bin/node", "-e", "fetch('http://127.0.0.1:7140/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "server/main.ts"]

FROM debian:bookworm-slim AS worker
# One file, and nothing else of this image is needed. In an image of your own:
#   COPY --from=tidemark-worker /usr/local/bin/tidemark /usr/local/bin/tidemark
COPY --from=build /app/dist/tidemark /usr/local/bin/tidemark
RUN useradd --uid 1000 --create-home tidemark \
 && mkdir -p /var/lib/tidemark /checkpoints && chown tidemark:tidemark /var/lib/tidemark /checkpoints
USER tidemark
VOLUME /var/lib/tidemark
ENV TIDEMARK_STATE=/var/lib/tidemark
ENTRYPOINT ["tidemark"]
CMD ["agent", "--watch", "/checkpoints"]
