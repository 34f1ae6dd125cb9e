import { describe, expect, it } from "vitest";
import { createThrottle } from "./throttle.ts";

const ALLOWANCE = { atOnce: 3, perSecond: 1 };
const refused = expect.objectContaining({ code: "TOO_MANY_TRIES" });

function open() {
  const clock = { at: 0 };
  const throttle = createThrottle(() => clock.at);
  return { clock, spend: (key = "stranger") => throttle.spend(key, ALLOWANCE) };
}

describe("an allowance", () => {
  it("refuses calls when it is used up, and recovers with time", () => {
    const { clock, spend } = open();
    for (let call = 0; call < 3; call++) spend();
    expect(() => spend()).toThrow(refused);
    clock.at = 1_000;
    spend();
    expect(() => spend()).toThrow(refused);
    expect(() => spend("somebody else")).not.toThrow();
  });

  it("is whole again after concurrent calls were given back, in whatever order", () => {
    const { spend } = open();
    const [first, second, third] = [spend(), spend(), spend()];
    second();
    first();
    third();
    for (let call = 0; call < 3; call++) spend();
    expect(() => spend()).toThrow(refused);
  });

  it("never grows beyond its size by calls that are given back late", () => {
    const { clock, spend } = open();
    const giveBack = spend();
    clock.at = 60_000;
    giveBack();
    for (let call = 0; call < 3; call++) spend();
    expect(() => spend()).toThrow(refused);
  });
});
