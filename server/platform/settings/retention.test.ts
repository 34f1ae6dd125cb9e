import { expect, test } from "vitest";
import { isFault } from "#protocol/faults/fault.ts";
import { DEFAULT_RETENTION, readRetention } from "./retention.ts";

test("history is kept as long as the environment says, and otherwise as the documentation does", () => {
  expect(readRetention({})).toEqual(DEFAULT_RETENTION);
  expect(readRetention({ TIDEMARK_KEEP_RAW: "3d", TIDEMARK_KEEP_TRANSFERS: " 48h " })).toEqual({
    ...DEFAULT_RETENTION,
    rawMs: 3 * 86_400_000,
    recordMs: 2 * 86_400_000,
  });
});

test("what cannot be read, or would leave gaps, is refused by name", () => {
  for (const text of ["soon", "1h", "-3d"]) {
    let caught: unknown = null;
    try {
      readRetention({ TIDEMARK_KEEP_HOURS: text });
    } catch (error) {
      caught = error;
    }
    expect(isFault(caught) && [caught.code, caught.context.subject]).toEqual(["BAD_INPUT", "TIDEMARK_KEEP_HOURS"]);
  }
});
