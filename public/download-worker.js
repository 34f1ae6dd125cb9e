/**
 * Hands what a page of Tidemark reads from a bucket to the browser's own downloads, as one stream: for browsers that let no
 * page write to the disk. Answers the one address that a page announced, once, and leaves every other request alone.
 */

/** What pages announced and the browser has not asked for yet, by id. */
const announced = new Map();

/** The bytes of a page, one chunk for each that is asked for. */
function streamFrom(port) {
  return new ReadableStream(
    {
      pull: (controller) =>
        new Promise((resolve) => {
          const take = ({ data }) => {
            if (data.kind === "bytes") controller.enqueue(data.bytes);
            else if (data.kind === "end") controller.close();
            else controller.error(new Error("the download was given up"));
            resolve();
          };
          port.addEventListener("message", take, { once: true });
          port.postMessage({ kind: "pull" });
        }),
      cancel: () => port.postMessage({ kind: "cancel" }),
    },
    { highWaterMark: 0 },
  );
}

self.addEventListener("install", () => void self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("message", ({ data, ports }) => {
  const [port] = ports;
  // A message without a port only says that the page is still there, which keeps this worker.
  if (port === undefined) return;
  announced.set(data.id, { name: data.name, port });
  port.start();
  port.postMessage({ kind: "ready" });
});

self.addEventListener("fetch", (event) => {
  const id = /^\/downloads-of-this-browser\/([0-9a-f]{32})$/.exec(new URL(event.request.url).pathname)?.[1];
  const found = announced.get(id);
  if (found === undefined) return;
  announced.delete(id);
  const name = encodeURIComponent(found.name).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  event.respondWith(
    new Response(streamFrom(found.port), {
      headers: {
        "content-type": "application/octet-stream",
        "content-disposition": `attachment; filename*=UTF-8''${name}`,
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
      },
    }),
  );
});
