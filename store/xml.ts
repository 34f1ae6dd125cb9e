/**
 * Writes and parses S3's XML. Written text preserves any key: control characters become numeric references. The parser
 * accepts a small subset: no DTD, only the five standard entities and numeric references, limited depth.
 */
import { S3Error } from "./s3-error.ts";

/** A parsed element: local name (without prefix), own text, and child elements in order. */
export type XmlElement = { readonly name: string; readonly text: string; readonly children: readonly XmlElement[] };

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
/** A map, because an object also has inherited properties, such as `constructor`. */
const ENTITIES: ReadonlyMap<string, string> = new Map(
  Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }),
);
const MAX_DEPTH = 16;

function escapeText(value: string): string {
  return value.replace(
    /[&<>"\u0000-\u001f\u007f\ufffe\uffff]/g,
    (character) => ESCAPES[character] ?? `&#x${character.charCodeAt(0).toString(16)};`,
  );
}

/** Returns `<name>value</name>`, or "" when the value is undefined. */
export function leaf(name: string, value: string | number | boolean | undefined): string {
  return value === undefined ? "" : `<${name}>${escapeText(String(value))}</${name}>`;
}

/** Returns an element around XML that is already written. */
export function branch(name: string, children: readonly string[]): string {
  return `<${name}>${children.join("")}</${name}>`;
}

/** Returns a whole S3 document with XML declaration and S3's namespace. */
export function xmlDocument(root: string, children: readonly string[]): string {
  const namespace = root === "Error" ? "" : ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${namespace}>${children.join("")}</${root}>`;
}

function malformed(): S3Error {
  return new S3Error(
    "MalformedXML",
    "The XML you provided was not well-formed or did not validate against our schema.",
  );
}

function decodeText(raw: string): string {
  return raw.replace(/&(#x[0-9a-fA-F]+|#[0-9]+|[a-z]+);|&/g, (_, reference: string | undefined) => {
    if (reference === undefined) throw malformed();
    if (!reference.startsWith("#")) {
      const known = ENTITIES.get(reference);
      if (known === undefined) throw malformed();
      return known;
    }
    const code = reference.startsWith("#x") ? Number.parseInt(reference.slice(2), 16) : Number(reference.slice(1));
    if (code > 0x10ffff) throw malformed();
    return String.fromCodePoint(code);
  });
}

type OpenElement = { name: string; text: string; children: XmlElement[] };

/** Parses a request document. Throws MalformedXML for anything outside the subset. */
export function parseXml(source: string): XmlElement {
  if (/<!(?!--)/.test(source)) throw malformed();
  const tokens = source.matchAll(/<\?[^>]*\?>|<!--[\s\S]*?-->|<(\/?)([A-Za-z_][\w.:-]*)([^<>]*?)(\/?)>|([^<]+)/g);
  const stack: OpenElement[] = [{ name: "", text: "", children: [] }];
  let consumed = 0;
  for (const token of tokens) {
    if (token.index !== consumed) throw malformed();
    consumed += token[0].length;
    const top = stack.at(-1);
    if (top === undefined) throw malformed();
    const [, slash, qualified, , selfClosing, text] = token;
    if (text !== undefined) top.text += decodeText(text);
    if (qualified === undefined) continue;
    const name = qualified.slice(qualified.indexOf(":") + 1);
    if (slash === "/") {
      if (stack.length < 2 || top.name !== name) throw malformed();
      stack.pop();
      stack.at(-1)?.children.push(top);
    } else if (selfClosing === "/") {
      top.children.push({ name, text: "", children: [] });
    } else {
      if (stack.length > MAX_DEPTH) throw malformed();
      stack.push({ name, text: "", children: [] });
    }
  }
  const root = stack[0]?.children[0];
  if (consumed !== source.length || stack.length !== 1 || root === undefined || stack[0]?.children.length !== 1) {
    throw malformed();
  }
  return root;
}

/** Returns the untrimmed text of the first child with this name, or undefined. */
export function childText(parent: XmlElement, name: string): string | undefined {
  return parent.children.find((child) => child.name === name)?.text;
}

/** Returns all children with this name, in order. */
export function childrenNamed(parent: XmlElement, name: string): readonly XmlElement[] {
  return parent.children.filter((child) => child.name === name);
}
