import { describe, expect, test } from "vitest";
import { createPins } from "./etag-guard.ts";

const MONDAY = "Mon, 16 Nov 2026 10:00:00 GMT";
const LATER = "Mon, 16 Nov 2026 10:00:07 GMT";
const object = { key: "k", etag: '"a"', modifiedAtMs: Date.parse(MONDAY) };
const answer = (etag?: string, date?: string) => ({
  ...(etag === undefined ? {} : { etag }),
  ...(date === undefined ? {} : { "last-modified": date }),
});

describe("reads of one object", () => {
  test("go on while ETag and date stay", () => {
    const pins = createPins();
    for (let reads = 0; reads < 3; reads++) pins.check(object, answer('"a"', MONDAY));
  });

  test("end when ETag and date are others than the HEAD said", () => {
    expect(() => createPins().check(object, answer('"b"', LATER))).toThrow("The object changed");
  });

  test("end when the ETag is another than that of an earlier read, in the same second too", () => {
    const pins = createPins();
    pins.check(object, answer('"a"', MONDAY));
    expect(() => pins.check(object, answer('"b"', MONDAY))).toThrow("The object changed");
  });

  test("go on where the store's GET and HEAD speak of one object with two ETags", () => {
    const pins = createPins();
    pins.check(object, answer('"a-of-get"', MONDAY));
    pins.check(object, answer('"a-of-get"', MONDAY));
    expect(() => pins.check(object, answer('"a"', MONDAY))).toThrow("The object changed");
  });

  test("are told apart by their date alone where there is no ETag", () => {
    const pins = createPins();
    pins.check({ key: "k", etag: null }, answer(undefined, MONDAY));
    expect(() => pins.check({ key: "k", etag: null }, answer(undefined, LATER))).toThrow("The object changed");
  });

  test("are told apart by their ETag alone where there is no date", () => {
    const pins = createPins();
    pins.check({ key: "k", etag: null }, answer('"a"'));
    expect(() => pins.check({ key: "k", etag: null }, answer('"b"'))).toThrow("The object changed");
  });

  test("of different objects do not touch each other", () => {
    const pins = createPins();
    pins.check(object, answer('"a"', MONDAY));
    pins.check({ key: "other", etag: null }, answer('"b"', LATER));
  });

  test("do not mind a date that was cut to whole seconds, and an object written again as it was", () => {
    const pins = createPins();
    pins.check({ ...object, modifiedAtMs: Date.parse(MONDAY) + 730 }, answer('"a"', MONDAY));
    pins.check(object, answer('"a"', LATER));
    pins.check(object, answer('W/"a"', LATER));
  });
});
