import { createCipheriv, createHash } from "node:crypto";
import type { Page } from "@playwright/test";

/**
 * Makes files in the browser's own file system (OPFS), filled with a key stream that both ends can compute: it cannot be
 * compressed, and every byte is known. Its handles survive a reload like those of the real file system.
 */

const CHUNK_BYTES = 8 * 1024 * 1024;
const KEY = Buffer.alloc(16, 7);

/** Returns the SHA-256 of the first `bytes` of the key stream. */
export function sha256OfStream(bytes: number): string {
  const cipher = createCipheriv("aes-128-ctr", KEY, Buffer.alloc(16));
  const zeros = Buffer.alloc(CHUNK_BYTES);
  const hash = createHash("sha256");
  for (let at = 0; at < bytes; at += CHUNK_BYTES) hash.update(cipher.update(zeros.subarray(0, bytes - at)));
  return hash.digest("hex");
}

/** Replaces the system's file pickers, which no script can operate, by handles in OPFS. Runs at the start of each page. */
export function standInPickers(): void {
  const root = () => navigator.storage.getDirectory();
  Reflect.set(globalThis, "showDirectoryPicker", async () => (await root()).getDirectoryHandle("dataset"));
  Reflect.set(globalThis, "showSaveFilePicker", async () => (await root()).getFileHandle("saved", { create: true }));
}

/** Writes the file `dataset/<name>`. */
export async function writeStream(page: Page, { name, bytes }: { name: string; bytes: number }): Promise<void> {
  await page.evaluate(
    async ({ file, size, chunk, raw }) => {
      const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("dataset", { create: true });
      const writer = await (await folder.getFileHandle(file, { create: true })).createWritable();
      const key = await crypto.subtle.importKey("raw", new Uint8Array(raw), "AES-CTR", false, ["encrypt"]);
      const zeros = new Uint8Array(chunk);
      for (let at = 0; at < size; at += chunk) {
        const counter = new Uint8Array(16);
        new DataView(counter.buffer).setBigUint64(8, BigInt(at / 16));
        const part = zeros.subarray(0, Math.min(chunk, size - at));
        await writer.write(await crypto.subtle.encrypt({ name: "AES-CTR", counter, length: 64 }, key, part));
      }
      await writer.close();
    },
    { file: name, size: bytes, chunk: CHUNK_BYTES, raw: [...KEY] },
  );
}

/** Returns the argument of `isStream`. */
export const streamOf = (bytes: number) => ({ size: bytes, chunk: CHUNK_BYTES, raw: [...KEY] });

/** Runs in the page: returns whether `saved` is the start of the key stream, byte for byte. */
export async function isStream({ size, chunk, raw }: ReturnType<typeof streamOf>): Promise<boolean> {
  const file = await (await (await navigator.storage.getDirectory()).getFileHandle("saved")).getFile();
  if (file.size !== size) return false;
  const key = await crypto.subtle.importKey("raw", new Uint8Array(raw), "AES-CTR", false, ["decrypt"]);
  for (let at = 0; at < size; at += chunk) {
    const counter = new Uint8Array(16);
    new DataView(counter.buffer).setBigUint64(8, BigInt(at / 16));
    const part = await file.slice(at, at + chunk).arrayBuffer();
    // The key stream decrypts to zeros.
    const plain = await crypto.subtle.decrypt({ name: "AES-CTR", counter, length: 64 }, key, part);
    if (new Uint8Array(plain).some((byte) => byte !== 0)) return false;
  }
  return true;
}

/** Watches the page's thread for tasks longer than 50 ms, as the browser reports them. */
export async function watchTasks(page: Page): Promise<() => Promise<{ longest: number; above100: number }>> {
  const seen = await page.evaluateHandle(() => {
    const durations: number[] = [];
    new PerformanceObserver((list) => durations.push(...list.getEntries().map(({ duration }) => duration))).observe({
      type: "longtask",
    });
    return durations;
  });
  return async () => {
    const durations = await seen.jsonValue();
    return { longest: Math.max(0, ...durations), above100: durations.filter((ms) => ms > 100).length };
  };
}
