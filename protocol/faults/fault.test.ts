import { expect, test } from "vitest";
import { faultData } from "./fault-data.ts";
import { Fault, sentenceOf, toFault } from "./fault.ts";
import { FAULTS } from "./fault-table.ts";

test("every code says what happened and what to do, as sentences", () => {
  for (const [code, row] of Object.entries(FAULTS)) {
    expect(row.says, code).toMatch(/^[A-Z].*\.$/s);
    expect(row.next, code).toMatch(/^[A-Z].*[^.]$|^[A-Z].*\.$/s);
    expect(row.http, code).toBeGreaterThanOrEqual(400);
    expect([1, 2, 3, 4, 5, 6, 7, 8, 126, 127, 130], code).toContain(row.exit);
  }
});

test("a fault crosses the wire as data and keeps its sentence", () => {
  const fault = new Fault("NO_SUCH_BUCKET", { op: "ListObjectsV2", subject: "training-eu", status: 404 });
  const received = faultData.parse(JSON.parse(JSON.stringify(fault.toData())));
  expect(sentenceOf(received)).toBe(fault.message);
  expect(fault.message).toContain("training-eu: The bucket does not exist");
});

test("an unknown error becomes INTERNAL with its cause, and a fault stays itself", () => {
  const fault = new Fault("STALLED");
  expect(toFault(fault)).toBe(fault);
  const error = new Error("boom");
  expect(toFault(error)).toMatchObject({ code: "INTERNAL", cause: error });
});

test("text from strangers is cut to what the wire allows", () => {
  const fault = new Fault("INTERNAL", { subject: "x".repeat(5000), detail: "y".repeat(5000) });
  expect(faultData.safeParse(fault.toData()).success).toBe(true);
});

test("a sentence that names a stranger's text has nothing in it that a terminal would obey", () => {
  const hostile = { subject: "a\u001b[2J\u202etxt.exe\n", detail: "the store said \u001b]0;owned\u0007\nand more" };
  const said = sentenceOf({ code: "NO_SUCH_KEY", ...hostile });
  expect(said).toContain("a\\u001b[2J\\u202etxt.exe\\u000a: ");
  expect(said).toContain("the store said \\u001b]0;owned\\u0007\\u000aand more");
  expect(new Fault("NO_SUCH_KEY", hostile).message).toBe(said);
});
