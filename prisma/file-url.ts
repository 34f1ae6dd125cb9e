/**
 * URLs of database files. The library reads `?` and `#` as parts of a URL and decodes `%`, which are ordinary characters of a
 * path; all others stay as they are.
 */
export const fileUrl = (path: string): string => `file:${path.replaceAll(/[%?#]/g, encodeURIComponent)}`;

/** Returns the path in a URL of `fileUrl`; null for any other text, such as `:memory:`. */
export const pathOfUrl = (url: string): string | null =>
  url.startsWith("file:") ? url.slice("file:".length).replaceAll(/%(?:25|3F|23)/g, decodeURIComponent) : null;
