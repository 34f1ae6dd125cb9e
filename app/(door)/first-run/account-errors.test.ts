import { expect, test } from "vitest";
import { accountErrors } from "./account-errors.ts";

const good = { code: "k7f2-9dmx-q4wp", email: "you@example.com", password: "a long enough one" };

test("each wrong field gets its own sentence", () => {
  const errors = accountErrors({ code: "", email: "you", password: "short" });
  expect(Object.keys(errors).sort()).toEqual(["code", "email", "password"]);
});

test("only the wrong field is named", () => {
  expect(Object.keys(accountErrors({ ...good, password: "short" }))).toEqual(["password"]);
});
