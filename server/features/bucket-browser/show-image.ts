import { MOST_IMAGE_BYTES, type ImagePreview, type ImageType } from "#protocol/buckets/bucket.ts";
import { Fault } from "#protocol/faults/fault.ts";
import { getObjectRange, headObject } from "#storage/s3/objects.ts";
import type { Hub } from "#server/core/api/hub.ts";

/**
 * Reads pictures for the pages. Magic bytes decide the type, never the name or the declared type, so that nothing with markup
 * (SVG, HTML) ever reaches a page as a picture.
 */

const ascii = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1");

function typeOf(bytes: Uint8Array): ImageType | null {
  if (bytes.length < 16) return null;
  if (ascii(bytes, 0, 8) === "\x89PNG\r\n\x1a\n") return "image/png";
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return "image/jpeg";
  if (/^GIF8[79]a/.test(ascii(bytes, 0, 6))) return "image/gif";
  return ascii(bytes, 0, 4) === "RIFF" && ascii(bytes, 8, 12) === "WEBP" ? "image/webp" : null;
}

/**
 * Returns a picture.
 * @throws Fault NOT_FOUND, NO_SUCH_KEY, TOO_LARGE, BAD_INPUT when it is no picture of these kinds, CANCELLED, those of the
 * store
 */
export async function showImage(
  hub: Hub,
  { profileId, key }: { profileId: string; key: string },
  signal: AbortSignal,
): Promise<ImagePreview> {
  const store = await hub.stores.open(profileId);
  const { bucket, traits } = store.access;
  const head = await headObject(store.client, { bucket, key });
  const none = new Fault("BAD_INPUT", { op: "preview", subject: key, detail: "it is no PNG, JPEG, GIF or WebP" });
  if (head.sizeBytes < 16) throw none;
  if (head.sizeBytes > MOST_IMAGE_BYTES) {
    throw new Fault("TOO_LARGE", { op: "preview", subject: key, detail: `more than ${MOST_IMAGE_BYTES} bytes` });
  }
  const etag = traits.trustEtag ? head.etag : null;
  const at = { bucket, key, etag, signal };
  const start = await getObjectRange(store.client, { ...at, offset: 0, length: 16 });
  const type = typeOf(start);
  if (type === null) throw none;
  const bytes = await getObjectRange(store.client, { ...at, offset: 0, length: head.sizeBytes });
  return { type, base64: Buffer.from(bytes).toString("base64") };
}
