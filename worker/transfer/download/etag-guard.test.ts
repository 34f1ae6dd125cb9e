import { describe, expect, test } from "vitest";
import { createEtagGuard } from "./etag-guard.ts";

const MONDAY = "Mon, 16 Nov 2026 10:00:00 GMT";
const LATER = "Mon, 16 Nov 2026 10:00:07 GMT";
const object = { key: "k", etag: '"a"', modifiedAtMs: Date.parse(MONDAY) };
const answer = (etag?: string, date?: string) => ({
  ...(etag === undefined ? {} : { etag }),
  ...(date === undefined ? {} : { "last-modified": date }),
});

describe("reads of one object", () => {
  test("go on while ETag and date stay", () => {
    const etagGuard = createEtagGuard();
    for (let reads = 0; reads < 3; reads++) etagGuard.check(object, answer('"a"', MONDAY));
  });

  test("end when ETag and date are others than the HEAD said", () => {
    expect(() => createEtagGuard().check(object, answer('"b"', LATER))).toThrow("The object changed");
  });

  test("end when the ETag is another than that of an earlier read, in the same second too", () => {
    const etagGuard = createEtagGuard();
    etagGuard.check(object, answer('"a"', MONDAY));
    expect(() => etagGuard.check(object, answer('"b"', MONDAY))).toThrow("The object changed");
  });

  test("go on where the store's GET and HEAD speak of one object with two ETags", () => {
    const etagGuard = createEtagGuard();
    etagGuard.check(object, answer('"a-of-get"', MONDAY));
    etagGuard.check(object, answer('"a-of-get"', MONDAY));
    expect(() => etagGuard.check(object, answer('"a"', MONDAY))).toThrow("The object changed");
  });

  test("are told apart by their date alone where there is no ETag", () => {
    const etagGuard = createEtagGuard();
    etagGuard.check({ key: "k", etag: null }, answer(undefined, MONDAY));
    expect(() => etagGuard.check({ key: "k", etag: null }, answer(undefined, LATER))).toThrow("The object changed");
  });

  test("are told apart by their ETag alone where there is no date", () => {
    const etagGuard = createEtagGuard();
    etagGuard.check({ key: "k", etag: null }, answer('"a"'));
    expect(() => etagGuard.check({ key: "k", etag: null }, answer('"b"'))).toThrow("The object changed");
  });

  test("of different objects do not touch each other", () => {
    const etagGuard = createEtagGuard();
    etagGuard.check(object, answer('"a"', MONDAY));
    etagGuard.check({ key: "other", etag: null }, answer('"b"', LATER));
  });

  test("do not mind a date that was cut to whole seconds, and an object written again as it was", () => {
    const etagGuard = createEtagGuard();
    etagGuard.check({ ...object, modifiedAtMs: Date.parse(MONDAY) + 730 }, answer('"a"', MONDAY));
    etagGuard.check(object, answer('"a"', LATER));
    etagGuard.check(object, answer('W/"a"', LATER));
  });
});
