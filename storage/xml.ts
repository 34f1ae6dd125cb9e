import { XMLParser } from "fast-xml-parser";

/**
 * XML from a stranger. Only a whole, well-formed document with the root that was asked for counts; anything else is
 * "not that document", never an empty one. No document type, no entities beyond XML's own five and numeric ones, no
 * attributes, and a limit on size.
 */

/** A page of 1,000 keys of 1,024 bytes each, written as entities, stays below this. */
export const MAX_XML_BYTES = 16 * 1024 * 1024;

const parser = new XMLParser({
  ignoreAttributes: true,
  ignoreDeclaration: true,
  ignorePiTags: true,
  parseTagValue: false,
  trimValues: false,
  processEntities: false,
  removeNSPrefix: true,
});

const decoder = new TextDecoder();

export interface XmlElement {
  readonly [name: string]: unknown;
}

const isElement = (value: unknown): value is XmlElement =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** One entity (`amp`, `#34`, `#x22`) as its character; null when it is not one of XML's own. */
function decodeEntity(name: string): string | null {
  if (!name.startsWith("#")) return NAMED[name] ?? null;
  const point = name.startsWith("#x") ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10);
  return point <= 0x10ffff ? String.fromCodePoint(point) : null;
}

const decodeEntities = (text: string): string =>
  text.replace(/&(#x[0-9a-fA-F]{1,6}|#[0-9]{1,7}|[a-z]{2,4});/g, (whole, name: string) => decodeEntity(name) ?? whole);

/** The text that can be XML of a store: within the limit, without a document type; otherwise null. */
function acceptableText(body: Uint8Array): string | null {
  if (body.byteLength === 0 || body.byteLength > MAX_XML_BYTES) return null;
  // Some stores send spaces first, to keep a slow answer alive.
  const text = decoder.decode(body).trim();
  return text.startsWith("<") && !/<!(doctype|entity)/i.test(text) ? text : null;
}

/** True for an HTML page, by its content type or its first bytes: what a captive portal or a proxy answers. */
export function looksLikeHtml(contentType: string | undefined, body: Uint8Array): boolean {
  if (contentType !== undefined && /^\s*(text\/html|application\/xhtml)/i.test(contentType)) return true;
  if (body.byteLength === 0) return false;
  const start = decoder.decode(body.subarray(0, 512)).trimStart().toLowerCase();
  return start.startsWith("<!doctype html") || start.startsWith("<html") || start.startsWith("<head");
}

/** The document with its root's name, or null when the body is not one well-formed XML document. */
export function parseXml(body: Uint8Array): { root: string; element: XmlElement } | null {
  const text = acceptableText(body);
  if (text === null) return null;
  let parsed: unknown;
  try {
    parsed = parser.parse(text, true);
  } catch {
    return null;
  }
  if (!isElement(parsed)) return null;
  const names = Object.keys(parsed).filter((name) => name !== "#text");
  const root = names[0];
  if (root === undefined || names.length !== 1) return null;
  const element = parsed[root];
  // An element without children is parsed as its text.
  return { root, element: isElement(element) ? element : {} };
}

/** Cheap look at a large document: its root's name when it opens and closes with it, otherwise null. */
export function rootOf(body: Uint8Array): string | null {
  const text = acceptableText(body);
  if (text === null) return null;
  const root = /^(?:<\?xml[^>]*\?>\s*)?<([A-Za-z][A-Za-z0-9]*)[\s>/]/.exec(text)?.[1];
  if (root === undefined) return null;
  const closes = text.endsWith(`</${root}>`) || /^(?:<\?xml[^>]*\?>\s*)?<[A-Za-z0-9]+[^<>]*\/>$/.test(text);
  return closes ? root : null;
}

/** The text of a child element; undefined when it is missing or has children of its own. */
export function textOf(element: XmlElement, name: string): string | undefined {
  const value = element[name];
  return typeof value === "string" ? decodeEntities(value) : undefined;
}

/** Every child element of this name, whether there are none, one or many. */
export function childrenOf(element: XmlElement, name: string): XmlElement[] {
  const value = element[name];
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.filter(isElement);
}

/** A child element as a whole number from 0; undefined when it is anything else. */
export function integerOf(element: XmlElement, name: string): number | undefined {
  const text = textOf(element, name)?.trim();
  if (text === undefined || !/^\d{1,16}$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Text made safe to stand inside an element. */
export const escapeXml = (text: string): string => text.replace(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
