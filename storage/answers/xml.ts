import { SaxesParser } from "saxes";

/**
 * Parses untrusted XML. Only a complete, well-formed document with the expected root counts; anything else is null, never
 * an empty document. A document type or an unknown entity makes it null, attributes are ignored, size and depth are
 * limited.
 */

/** Limit of a document. A page of 1,000 keys of 1,024 bytes each, written as entities, stays below it. */
export const MAX_XML_BYTES = 16 * 1024 * 1024;

/** Deeper than any document of a store. */
const MOST_DEPTH = 32;

const decoder = new TextDecoder();

export interface XmlElement {
  readonly [name: string]: unknown;
}

const isElement = (value: unknown): value is XmlElement =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the text if it can be a store's XML: within the limit and without a document type. Otherwise null. */
function acceptableText(body: Uint8Array): string | null {
  if (body.byteLength === 0 || body.byteLength > MAX_XML_BYTES) return null;
  // Some stores send spaces first, to keep the connection of a slow answer alive.
  const text = decoder.decode(body).trim();
  return text.startsWith("<") && !/<!(doctype|entity)/i.test(text) ? text : null;
}

/** Returns whether the body is an HTML page, by content type or first bytes, as captive portals and proxies send. */
export function looksLikeHtml(contentType: string | undefined, body: Uint8Array): boolean {
  if (contentType !== undefined && /^\s*(text\/html|application\/xhtml)/i.test(contentType)) return true;
  if (body.byteLength === 0) return false;
  const start = decoder.decode(body.subarray(0, 512)).trimStart().toLowerCase();
  return start.startsWith("<!doctype html") || start.startsWith("<html") || start.startsWith("<head");
}

/** Returns the document with its root's name; null when the body is not one well-formed XML document. */
export function parseXml(body: Uint8Array): { root: string; element: XmlElement } | null {
  const text = acceptableText(body);
  if (text === null) return null;
  try {
    return readPlain(text) ?? readDocument(text);
  } catch {
    return null;
  }
}

/** An open element: its text until it has children, then the children by name. */
interface Open {
  name: string;
  text: string;
  children: Record<string, unknown> | null;
}

const DECLARATION = /^<\?xml version="1\.[01]"(?: encoding="(?:UTF|utf)-8")?(?: standalone="(?:yes|no)")?\?>[ \t\n]*/;
const PLAIN_NAME = /^[A-Za-z][A-Za-z0-9]*$/;
const PLAIN_ROOT = /^([A-Za-z][A-Za-z0-9]*) xmlns="[^"<&]*"$/;

/**
 * Parses the subset of XML that stores nearly always send: nested elements, text and entities. It takes a fifth of the
 * parser's time, which matters for long listings. Returns null for any other XML, valid or not, which the full parser
 * then judges.
 */
function readPlain(text: string): { root: string; element: XmlElement } | null {
  let at = DECLARATION.exec(text)?.[0].length ?? 0;
  if (text.includes("\r") || text.includes("]]>") || text.charCodeAt(at) !== LESS) return null;
  const open: Open[] = [];
  let inside: Open | undefined;
  for (;;) {
    const start = text.indexOf("<", at);
    const end = text.indexOf(">", start);
    if (start === -1 || end === -1) return null;
    if (inside !== undefined && start > at) {
      const more = plainText(text.slice(at, start));
      if (more === null) return null;
      inside.text += more;
    }
    at = end + 1;
    const tag = text.slice(start + 1, end);
    if (tag.charCodeAt(0) === SLASH) {
      if (inside === undefined || tag.length !== inside.name.length + 1 || !tag.endsWith(inside.name)) return null;
      open.pop();
      const outer = open.at(-1);
      if (outer === undefined) {
        return at === text.length ? { root: inside.name, element: inside.children ?? {} } : null;
      }
      addChild(outer, inside);
      inside = outer;
    } else {
      const isEmpty = tag.charCodeAt(tag.length - 1) === SLASH;
      const named = isEmpty ? tag.slice(0, -1) : tag;
      const name = PLAIN_NAME.test(named) ? named : open.length === 0 ? PLAIN_ROOT.exec(named)?.[1] : undefined;
      if (name === undefined || open.length >= MOST_DEPTH) return null;
      const element: Open = { name, text: "", children: null };
      if (!isEmpty) {
        open.push(element);
        inside = element;
      } else if (inside === undefined) return null;
      else addChild(inside, element);
    }
  }
}

const LESS = 0x3c;
const SLASH = 0x2f;
const ENTITY = /&[#\w]*;?/g;
const NUMERIC = /^&#(?:x[0-9a-fA-F]{1,4}|\d{1,5});$/;
const NAMED = new Map([
  ["&lt;", "<"],
  ["&gt;", ">"],
  ["&amp;", "&"],
  ["&quot;", '"'],
  ["&apos;", "'"],
]);

/** Returns the decoded text; null when it holds more than plain entities. */
function plainText(raw: string): string | null {
  if (!raw.includes("&")) return raw;
  let isPlain = true;
  const text = raw.replace(ENTITY, (entity) => {
    const found = NAMED.get(entity) ?? characterOf(entity);
    isPlain &&= found !== null;
    return found ?? "";
  });
  return isPlain ? text : null;
}

/** Returns the character of a numeric entity; null for other text and for code points that may be invalid in XML. */
function characterOf(entity: string): string | null {
  if (!NUMERIC.test(entity)) return null;
  const code = Number(`0${entity.slice(2, -1)}`);
  const isCharacter = code > 0 && code < 0xfffe && (code < 0xd800 || code > 0xdfff);
  return isCharacter ? String.fromCharCode(code) : null;
}

/** XML 1.1 treats these as line ends and would turn them into line feeds. */
const OTHER_LINE_ENDS = /[\x85\u2028]/g;

/**
 * Parses a whole document, and throws when it is malformed. Uses XML 1.1, which allows any character in a key as a
 * numeric entity. Accepts unescaped control characters too, because stores write them.
 */
function readDocument(text: string): { root: string; element: XmlElement } | null {
  const parser = new SaxesParser({ position: false, defaultXMLVersion: "1.1", forceXMLVersion: true });
  const open: Open[] = [];
  let found: { root: string; element: XmlElement } | null = null;
  parser.on("error", (error) => {
    if (error.message !== "disallowed character.") throw error;
  });
  parser.on("opentag", ({ name }) => {
    if (open.length >= MOST_DEPTH) throw new Error("elements inside of elements without end");
    open.push({ name: name.slice(name.indexOf(":") + 1), text: "", children: null });
  });
  const addText = (more: string) => {
    const inside = open.at(-1);
    if (inside !== undefined) inside.text += more;
  };
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.on("closetag", () => {
    const closed = open.pop();
    if (closed === undefined) return;
    const outer = open.at(-1);
    if (outer === undefined) found = { root: closed.name, element: closed.children ?? {} };
    else addChild(outer, closed);
  });
  const safe = text.replace(OTHER_LINE_ENDS, (sign) => `&#${sign.charCodeAt(0)};`);
  if (safe.length !== text.length && text.includes("<![CDATA[")) throw new Error("an entity means nothing there");
  parser.write(safe).close();
  return found;
}

function addChild(outer: Open, { name, text, children }: Open): void {
  outer.children ??= Object.create(null) as Record<string, unknown>;
  const value = children ?? text;
  const before = outer.children[name];
  if (before === undefined) outer.children[name] = value;
  else if (Array.isArray(before)) before.push(value);
  else outer.children[name] = [before, value];
}

/** Returns the root's name if a large document's text begins and ends with that element, otherwise null. Does not parse it. */
export function rootOf(body: Uint8Array): string | null {
  const text = acceptableText(body);
  if (text === null) return null;
  const root = /^(?:<\?xml[^>]*\?>\s*)?<([A-Za-z][A-Za-z0-9]*)[\s>/]/.exec(text)?.[1];
  if (root === undefined) return null;
  const closes = text.endsWith(`</${root}>`) || /^(?:<\?xml[^>]*\?>\s*)?<[A-Za-z0-9]+[^<>]*\/>$/.test(text);
  return closes ? root : null;
}

/** Returns the text of a child element; undefined when it is missing or has children of its own. */
export function textOf(element: XmlElement, name: string): string | undefined {
  const value = element[name];
  return typeof value === "string" ? value : undefined;
}

/** Returns every child element of this name: none, one or many. */
export function childrenOf(element: XmlElement, name: string): XmlElement[] {
  const value = element[name];
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.filter(isElement);
}

/** Returns a child element's text as a non-negative safe integer; undefined when it is anything else. */
export function integerOf(element: XmlElement, name: string): number | undefined {
  const text = textOf(element, name)?.trim();
  if (text === undefined || !/^\d{1,16}$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Escapes text for use inside an element. */
export const escapeXml = (text: string): string => text.replace(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
