import { Fault } from "#protocol/faults/fault.ts";
import type { UploadTools } from "./upload-file.ts";

/** Sends a body with XMLHttpRequest: only it reports upload progress, and it streams files from the disk. */

/** Longest time without progress after the first byte has left. */
const STALLED_AFTER_MS = 60_000;
/** Longest wait for the first byte: browsers queue requests for their few connections. */
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
      // The browser sets Content-Length itself and forbids setting it.
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
      // Browsers do not tell a lost link, a DNS failure and a missing CORS rule apart.
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
