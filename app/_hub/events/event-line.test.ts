import { expect, test } from "vitest";
import { sentenceOf } from "#protocol/faults/fault.ts";
import { textWithoutFault } from "./event-line.tsx";

test("a line does not say its fault twice", () => {
  const fault = { code: "ACCESS_DENIED", detail: "AccessDenied" } as const;
  const text = `could not upload step 200 of steady: ${sentenceOf(fault)}`;
  expect(textWithoutFault({ text, fault })).toBe("could not upload step 200 of steady");
  expect(textWithoutFault({ text: "could not reach it", fault })).toBe("could not reach it");
  expect(textWithoutFault({ text, fault: null })).toBe(text);
});
