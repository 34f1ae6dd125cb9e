import { expect, test } from "vitest";
import { hear, newestOf, send, startEcho } from "./own-echo.ts";

test("the answers to one's own changes are no changes of others, however late they come", () => {
  const sent = send(send(startEcho(""), "a"), "abc");
  const first = hear(sent, "a");
  expect(first.isForeign).toBe(false);
  expect(newestOf(first.echo)).toBe("abc");
  const second = hear(first.echo, "abc");
  expect(second).toEqual({ echo: { heard: "abc", sent: [] }, isForeign: false });
});

test("an answer that never comes is not waited for", () => {
  const { echo, isForeign } = hear(send(send(startEcho(""), "a"), "ab"), "ab");
  expect([isForeign, echo.sent]).toEqual([false, []]);
});

test("a value that nobody here sent is somebody else's, and ends the waiting", () => {
  const { echo, isForeign } = hear(send(startEcho(""), "a"), "other");
  expect([isForeign, newestOf(echo)]).toEqual([true, "other"]);
});

test("the value that stood there all the time changes nothing", () => {
  const waiting = send(startEcho("x"), "xy");
  expect(hear(waiting, "x").echo).toBe(waiting);
});
