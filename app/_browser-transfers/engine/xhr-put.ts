import { Fault } from "#protocol/faults/fault.ts";
import type { UploadTools } from "./upload-file.ts";

/** Sends a body from a page: XMLHttpRequest, because only it tells how much has left, and streams a file from the disk. */

/** Once bytes leave: no more of them for so long. */
const STALLED_AFTER_MS = 60_000;
/** Before the first: the browser may let a request wait for one of its few connections. */
const BEGIN_WITHIN_MS = 180_000;
const LOOK_EVERY_MS = 5_000;

function readHeaders(text: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of text.split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) headers[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
  }
  return headers;
}

export const xhrPut: UploadTools["put"] = (request, body, { onSent, signal }) =>
  new Promise((resolve, reject) => {
    const op = "send a part";
    const xhr = new XMLHttpRequest();
    let movedAt = performance.now();
    let hasBegun = false;
    const abort = (): void => xhr.abort();
    const timer = setInterval(() => {
      if (performance.now() - movedAt <= (hasBegun ? STALLED_AFTER_MS : BEGIN_WITHIN_MS)) return;
      end();
      xhr.abort();
      reject(new Fault("STALLED", { op }));
    }, LOOK_EVERY_MS);
    const end = (): void => {
      clearInterval(timer);
      signal.removeEventListener("abort", abort);
    };
    xhr.open(request.method, request.url);
    xhr.responseType = "arraybuffer";
    for (const [name, value] of Object.entries(request.headers)) {
      // The browser counts for itself.
      if (name !== "content-length") xhr.setRequestHeader(name, value);
    }
    xhr.upload.addEventListener("progress", ({ loaded }) => {
      movedAt = performance.now();
      hasBegun = true;
      onSent(Math.min(loaded, body.size));
    });
    xhr.addEventListener("load", () => {
      end();
      const bytes: unknown = xhr.response;
      resolve({
        status: xhr.status,
        headers: readHeaders(xhr.getAllResponseHeaders()),
        body: new Uint8Array(bytes instanceof ArrayBuffer ? bytes : new ArrayBuffer(0)),
      });
    });
    xhr.addEventListener("error", () => {
      end();
      // All that a browser says: a lost link, a name that is not known and a missing CORS rule look the same.
      reject(new Fault("LINK_DOWN", { op }));
    });
    xhr.addEventListener("abort", () => {
      end();
      reject(new Fault("CANCELLED", { op }));
    });
    signal.addEventListener("abort", abort);
    if (signal.aborted) {
      end();
      reject(new Fault("CANCELLED", { op }));
      return;
    }
    xhr.send(body);
  });
