import { describe, expect, it } from "vitest";
import { fitsPattern, openFaultBook, type RequestFacts } from "./fault-match.ts";
import { readFaultRule } from "./fault-rules.ts";

const partOf = (partNumber: number, key = "run/a.bin"): RequestFacts => ({
  operation: "UploadPart",
  bucket: "b",
  key,
  partNumber,
});

function firings(rule: Record<string, unknown>, requests: readonly RequestFacts[]): string {
  const book = openFaultBook();
  book.add(readFaultRule({ action: { kind: "drop-response" }, ...rule }, "r"));
  return requests.map((facts) => (book.match(facts).length > 0 ? "x" : ".")).join("");
}

describe("a rule", () => {
  it("fires for the operation, key and part it names and for no other", () => {
    const requests = [partOf(1), partOf(3), partOf(3, "other"), { ...partOf(3), operation: "GetObject" as const }];
    expect(firings({ op: "UploadPart", keyPattern: "run/*", partNumber: 3 }, requests)).toBe(".x..");
    expect(firings({ op: ["GetObject", "HeadObject"] }, requests)).toBe("...x");
    expect(firings({ op: "*" }, requests)).toBe("xxxx");
    expect(firings({ bucket: "c" }, requests)).toBe("....");
  });

  it("counts attempts for each key and part on its own", () => {
    const requests = [partOf(1), partOf(2), partOf(1), partOf(2), partOf(1)];
    expect(firings({ attempt: 2 }, requests)).toBe("..xx.");
  });

  it("fires no more often than it may", () => {
    const requests = Array.from({ length: 5 }, () => partOf(1));
    expect(firings({ times: 2 }, requests)).toBe("xx...");
  });

  it("fires by chance in the same places for the same seed", () => {
    const requests = Array.from({ length: 400 }, (_, index) => partOf(index + 1));
    const first = firings({ probability: 0.25, seed: 7 }, requests);
    expect(firings({ probability: 0.25, seed: 7 }, requests)).toBe(first);
    expect(firings({ probability: 0.25, seed: 8 }, requests)).not.toBe(first);
    const fired = first.replaceAll(".", "").length;
    expect(fired).toBeGreaterThan(60);
    expect(fired).toBeLessThan(140);
    expect(firings({ probability: 0 }, requests)).not.toContain("x");
  });

  it("stops when it is removed, and shows how often it fired", () => {
    const book = openFaultBook();
    book.add(readFaultRule({ id: "mine", action: { kind: "html" } }, "r"));
    expect(book.match(partOf(1))).toEqual([{ id: "mine", action: { kind: "html", work: "skipped" } }]);
    expect(book.list()).toMatchObject([{ id: "mine", fired: 1 }]);
    expect(book.remove("mine")).toBe("removed");
    expect(book.remove("mine")).toBe("unknown");
    expect(book.match(partOf(1))).toEqual([]);
  });
});

describe("a key pattern", () => {
  it("has stars for any text and nothing else that is special", () => {
    expect(fitsPattern("a/*.bin", "a/b/c.bin")).toBe(true);
    expect(fitsPattern("a/*.bin", "a/b/cxbin")).toBe(false);
    expect(fitsPattern("a(1)[2].*", "a(1)[2].x\ny")).toBe(true);
    expect(fitsPattern("a", "ab")).toBe(false);
  });
});

describe("reading a rule", () => {
  it.each([
    [{ action: { kind: "explode" } }, /"kind" of an action must be one of error, reset/],
    [{ op: "PutThing", action: { kind: "html" } }, /"op" must be/],
    [{ op: "PutObject", part: 3, action: { kind: "html" } }, /A rule has no field "part"/],
    [{ action: { kind: "stall", side: "left" } }, /"side" must be one of response, request/],
    [{ action: { kind: "rate", side: "request" } }, /"bytesPerSecond" must be a whole number of at least 1/],
    [{ probability: 2, action: { kind: "html" } }, /"probability"/],
    [{ action: { kind: "flip", where: 3 } }, /The action "flip" has no field "where"/],
    ["nonsense", /A rule must be a JSON object/],
  ])("refuses %j with a sentence", (rule, sentence) => {
    expect(() => readFaultRule(rule, "r")).toThrow(sentence);
  });
});
