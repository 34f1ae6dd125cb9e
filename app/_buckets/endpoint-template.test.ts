import { expect, test } from "vitest";
import { fillEndpoint, needsAccount, openPlaces } from "./endpoint-template.ts";

test("region and account stand where the template has them", () => {
  expect(fillEndpoint("https://s3.{region}.amazonaws.com", { region: "eu-west-1", account: "" })).toBe(
    "https://s3.eu-west-1.amazonaws.com",
  );
  expect(fillEndpoint("https://{account}.r2.cloudflarestorage.com", { region: "auto", account: "abc" })).toBe(
    "https://abc.r2.cloudflarestorage.com",
  );
});

test("what is not known yet stays open and is named", () => {
  const endpoint = fillEndpoint("https://{account}.r2.cloudflarestorage.com", { region: "auto", account: "" });
  expect(openPlaces(endpoint)).toEqual(["account"]);
  expect(needsAccount(endpoint)).toBe(true);
});

test("text from the fields is taken literally", () => {
  expect(fillEndpoint("https://{account}.example.com", { region: "", account: "$&{region}" })).toContain("$&");
});
