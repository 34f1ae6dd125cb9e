import { describe, expect, it } from "vitest";
import { childText, childrenNamed, leaf, parseXml, xmlDocument } from "./xml.ts";

describe("written XML", () => {
  it("survives any key, control characters too", () => {
    const key = "a<b>&\"'\u0001\n\r\tü🌊\u007f";
    const parsed = parseXml(xmlDocument("Root", [leaf("Key", key)]));
    expect(childText(parsed, "Key")).toBe(key);
  });

  it("leaves out what is undefined", () => {
    expect(leaf("Key", undefined)).toBe("");
    expect(leaf("Key", 0)).toBe("<Key>0</Key>");
  });
});

describe("read XML", () => {
  it("knows prefixes, attributes, comments, entities and empty elements", () => {
    const root = parseXml(
      '<?xml version="1.0"?><!-- c --><s:A xmlns:s="u" x="1"><B>&#65;&#x42;&amp;</B><C/><B>2</B></s:A>',
    );
    expect(root.name).toBe("A");
    expect(childrenNamed(root, "B").map((child) => child.text)).toEqual(["AB&", "2"]);
    expect(childText(root, "C")).toBe("");
  });

  it.each([
    "",
    "text",
    "<A>",
    "<A></B>",
    "<A/><B/>",
    "<A>&unknown;</A>",
    "<A>&constructor;</A>",
    "<A>& </A>",
    "<A>&#x110000;</A>",
    '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
    "<A".repeat(50),
    `${"<A>".repeat(30)}${"</A>".repeat(30)}`,
  ])("refuses %j", (source) => {
    expect(() => parseXml(source)).toThrow(expect.objectContaining({ code: "MalformedXML" }));
  });
});
