import { describe, expect, test } from "vitest";
import { childrenOf, escapeXml, integerOf, looksLikeHtml, MAX_XML_BYTES, parseXml, rootOf, textOf } from "./xml.ts";

const bytes = (text: string): Buffer => Buffer.from(text);
const DECLARED = '<?xml version="1.0" encoding="UTF-8"?>\n';

describe("parseXml", () => {
  test("reads texts, numbers and repeated children, with and without a namespace", () => {
    const text = `${DECLARED}<List xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Part><N>1</N></Part><Part><N>2</N></Part><Name>b</Name></List>`;
    const parsed = parseXml(bytes(text));
    expect(parsed?.root).toBe("List");
    const element = parsed?.element ?? {};
    expect(textOf(element, "Name")).toBe("b");
    expect(childrenOf(element, "Part").map((part) => integerOf(part, "N"))).toEqual([1, 2]);
    expect(childrenOf(element, "Nothing")).toEqual([]);
  });

  test("decodes XML's own entities and numeric ones, once", () => {
    const parsed = parseXml(bytes("<R><E>&quot;a&#34;&#x22;&apos;&lt;&amp;quot;</E></R>"));
    expect(textOf(parsed?.element ?? {}, "E")).toBe(`"a""'<&quot;`);
  });

  test("keeps every character that a key may have", () => {
    const keyOf = (text: string) => textOf(parseXml(bytes(`<R><Key>${text}</Key></R>`))?.element ?? {}, "Key");
    expect(keyOf("&#1;a\u0085b\u2028c&#x1F600;")).toBe("\u0001a\u0085b\u2028c\u{1F600}");
    expect(keyOf("\u0002\u007fdon\u00e2\u0080\u0099t")).toBe("\u0002\u007fdon\u00e2\u0080\u0099t");
    expect(keyOf("<![CDATA[<&>\u0080]]>")).toBe("<&>\u0080");
  });

  test("keeps spaces that belong to a key", () => {
    expect(textOf(parseXml(bytes("<R><Key> a b </Key></R>"))?.element ?? {}, "Key")).toBe(" a b ");
  });

  test("accepts the spaces some stores send to keep a slow answer alive", () => {
    expect(parseXml(bytes(`   \n  ${DECLARED}<R><A>1</A></R>\n`))?.root).toBe("R");
  });

  test.each([
    ["nothing", ""],
    ["plain text", "please log in"],
    ["half a document", "<ListBucketResult><Contents><Key>a</Key>"],
    ["a document with its end missing", "<R><A>1</A></R"],
    ["wrongly nested elements", "<R><A><B></A></B></R>"],
    ["two documents", "<R><A>1</A></R><R><A>2</A></R>"],
    ["a document type", '<!DOCTYPE R [<!ENTITY x "y">]><R><A>&x;</A></R>'],
    ["an entity that nobody knows", "<R><A>&nbsp;</A></R>"],
    ["elements inside of elements without end", `<R>${"<A>".repeat(100)}${"</A>".repeat(100)}</R>`],
    ["what would become another key", "<R><Key><![CDATA[a\u0085b]]></Key></R>"],
    ["JSON", '{"Code":"AccessDenied"}'],
  ])("refuses %s", (_name, text) => {
    expect(parseXml(bytes(text))).toBeNull();
  });

  test("refuses more bytes than any page of a listing has", () => {
    const text = `<R><A>${"x".repeat(MAX_XML_BYTES)}</A></R>`;
    expect(parseXml(bytes(text))).toBeNull();
    expect(rootOf(bytes(text))).toBeNull();
  });

  test("cannot be made to touch the prototype of objects", () => {
    parseXml(bytes("<R><__proto__><polluted>1</polluted></__proto__></R>"));
    expect({}).not.toHaveProperty("polluted");
  });
});

describe("rootOf", () => {
  test("names the root of a document that opens and closes with it", () => {
    expect(rootOf(bytes(`${DECLARED}<ListBucketResult xmlns="x"><A/></ListBucketResult>\n`))).toBe("ListBucketResult");
    expect(rootOf(bytes("<CORSConfiguration/>"))).toBe("CORSConfiguration");
  });

  test("names nothing when the end is missing or it is a page", () => {
    expect(rootOf(bytes("<ListBucketResult><Contents>"))).toBeNull();
    expect(rootOf(bytes("<!DOCTYPE html><html></html>"))).toBeNull();
    expect(rootOf(bytes(""))).toBeNull();
  });
});

describe("integerOf", () => {
  test.each([["-1"], ["1.5"], ["1e3"], [""], ["99999999999999999"], ["9007199254740993"]])("refuses %j", (text) => {
    expect(integerOf({ N: text }, "N")).toBeUndefined();
  });
});

describe("looksLikeHtml", () => {
  test("knows a page by its type or by its first bytes", () => {
    expect(looksLikeHtml("text/html", bytes(""))).toBe(true);
    expect(looksLikeHtml(undefined, bytes("\n <!doctype HTML>"))).toBe(true);
    expect(looksLikeHtml("application/xml", bytes("<HTML lang=en>"))).toBe(true);
    expect(looksLikeHtml("application/xml", bytes("<Error></Error>"))).toBe(false);
  });
});

test("escapeXml gives text that reads back the same", () => {
  const hostile = `"<&>' ]]> é`;
  expect(textOf(parseXml(bytes(`<R><E>${escapeXml(hostile)}</E></R>`))?.element ?? {}, "E")).toBe(hostile);
});
