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

describe("documents without anything special are read in a shorter way, as the parser reads them", () => {
  /** A comment says nothing, and only the parser knows what it is. */
  const byParser = (text: string) => parseXml(bytes(text.replace(/(<R[^<>/]*>)/, "$1<!-- -->")));
  const PIECES = [
    "<A>",
    "</A>",
    "<B>",
    "</B>",
    "<B/>",
    "<A >",
    "</A >",
    "<a:B>x</a:B>",
    '<C d="e">',
    "</C>",
    "<1>",
    "text",
    " ",
    "\n",
    "\r\n",
    "\u0085\u2028",
    "\u0001",
    "\u20ac",
    "&lt;&gt;&amp;&quot;&apos;",
    "&#34;&#x22;&#233;",
    "&#1;",
    "&#0;",
    "&#xD800;",
    "&#x1F30A;",
    "&#65535;",
    "&nbsp;",
    "&amp",
    "&",
    "&;",
    "]]>",
    ">",
    "<![CDATA[<x>]]>",
    "<!-- y -->",
    "<?z?>",
    "</R>",
    "__proto__",
    "<constructor>1</constructor>",
  ];

  test("whatever they are made of", () => {
    let state = 7;
    const random = (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((state / 2 ** 31) * below);
    };
    let read = 0;
    for (let count = 0; count < 20_000; count++) {
      const pieces = Array.from({ length: random(8) }, () => PIECES[random(PIECES.length)]);
      // Half of them well-formed as far as elements go.
      const inner =
        random(2) === 0
          ? pieces.join("")
          : pieces.map((piece = "") => (/^<[AB]/.test(piece) ? `<A>${piece.length}</A>` : piece)).join("");
      const text = `${random(3) === 0 ? DECLARED : ""}<R${random(2) === 0 ? "" : ' xmlns="urn:x"'}>${inner}</R>`;
      const parsed = parseXml(bytes(text));
      expect(parsed, text).toEqual(byParser(text));
      if (parsed !== null) read++;
    }
    expect(read).toBeGreaterThan(2_000);
  });

  test("as deep as any document of a store, and no deeper", () => {
    const nested = (depth: number) => bytes(`<R>${"<A>".repeat(depth - 1)}${"</A>".repeat(depth - 1)}</R>`);
    expect(parseXml(nested(32))).not.toBeNull();
    expect(parseXml(nested(33))).toBeNull();
  });

  test.each([
    "<R></R>",
    "<R/>",
    "<R><A/></R>",
    "<R></R>x",
    "<R></R><R></R>",
    "<R><A></R></A>",
    "<R><A></R>",
    "<R>",
    "<R></r>",
    `${DECLARED}<R><A>1</A></R>`,
    `<?xml version="2.0"?><R></R>`,
    `<?xml version='1.0' encoding='UTF-8'?><R>1</R>`,
    `<R xmlns="a>b"><A>1</A></R>`,
    `<R xmlns='a'><A>1</A></R>`,
    `${"<A>".repeat(40)}${"</A>".repeat(40)}`,
    `<R>${"<A>".repeat(31)}${"</A>".repeat(31)}</R>`,
    `<R>${"<A>".repeat(32)}${"</A>".repeat(32)}</R>`,
  ])("%s", (text) => {
    expect(parseXml(bytes(text))).toEqual(byParser(text));
  });
});
