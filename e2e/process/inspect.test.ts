import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readArchive } from "#storage/testing/real-files.ts";
import { at, does, here, lines, run, useVerbs, write } from "./verbs-stage.ts";

/** `tidemark inspect` as a person uses it, on files of the real libraries. */

useVerbs();
const real = readArchive("inspect-formats");
const put = (path: string): string => write(path, real.get(path) ?? Buffer.alloc(0));

describe("inspect", () => {
  test("says of a file on the disk and of an object the same", async () => {
    const path = put("torch/step_3.pt");
    await does(["cp", path, `${at}/step_3.pt`]);
    const [local, stored] = [await does(["inspect", path]), await does(["inspect", `${at}/step_3.pt`])];
    expect(local.text).toContain("16 tensors, 58 parameters, 120 elements of optimizer and other state");
    expect(local.text).toContain("optimizer.state.0.exp_avg");
    const body = (text: string) => text.split("\n").slice(1).join("\n");
    expect(body(stored.text)).toBe(body(local.text));
  });

  test("writes with --json a line for every tensor and one for the file", async () => {
    const outcome = await does(["inspect", "--json", put("gguf/v3.gguf")]);
    const found = lines(outcome).map((line) => JSON.parse(line));
    expect(found.filter(({ type }) => type === "tensor")).toHaveLength(9);
    expect(found.at(-1)).toMatchObject({ type: "inspected", format: "gguf", tensors: 9, fault: null });
  });

  test("shows the loss of a trainer_state.json", async () => {
    expect((await does(["inspect", put("trainer/trainer_state.json")])).text).toMatch(/^ +1 +2\.5 +- +0\.001$/m);
  });

  test("ends with 6 for a file that is cut short, with 3 for one that is not there", async () => {
    const cut = write(
      "cut.safetensors",
      (real.get("safetensors/dtypes.safetensors") ?? Buffer.alloc(0)).subarray(0, 1_600),
    );
    const outcome = await run(["inspect", cut]);
    expect(outcome.code).toBe(6);
    expect(outcome.text).toContain("cut short");
    expect((await run(["inspect", join(here, "none")])).code).toBe(3);
    expect((await run(["inspect", `${at}/none`])).code).toBe(3);
  });
});
