import { describe, expect, it } from "vitest";
import { sentenceOf, toFault } from "#protocol/faults/fault.ts";
import { readKeep } from "./read-keep.ts";

const refusal = (text: string): string => {
  try {
    readKeep(text);
    return "";
  } catch (error) {
    return sentenceOf(toFault(error).toData());
  }
};

describe("the rules of --keep", () => {
  it("are read as a policy, with a day in the trash", () => {
    expect(readKeep("last=3,every=1000,best=eval_loss:min")).toEqual({
      last: 3,
      everySteps: 1_000,
      everyMs: null,
      best: { metric: "eval_loss", want: "min", count: 1 },
      mostBytes: null,
      trashMs: 86_400_000,
    });
    expect(readKeep("every=6h, best=acc:max:5, most=500GB, trash=3d")).toMatchObject({
      last: null,
      everySteps: null,
      everyMs: 21_600_000,
      best: { metric: "acc", want: "max", count: 5 },
      mostBytes: 500e9,
      trashMs: 259_200_000,
    });
  });

  it.each([
    ["", '"" is no rule'],
    ["last", '"last" is no rule'],
    ["first=3", '"first=3" is no rule'],
    ["last=0", "last=3,every=1000"],
    ["last=1,last=2", "last is given twice"],
    ["every=soon", '"every=soon"'],
    ["best=loss:least", "last=3,every=1000"],
    ["last=3,trash=1h", "the trash keeps for a day or more"],
    ["trash=2d", "no rule says what to keep"],
  ])("%j is refused with what is wrong and the form", (text, why) => {
    const said = refusal(text);
    expect(said).toContain(why);
    expect(said).toContain("best=eval_loss:min");
  });
});
