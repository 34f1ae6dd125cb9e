import { expect, it } from "vitest";
import { resolveConfig } from "../../command-line/config.ts";
import type { FlagName } from "../../command-line/flags.ts";
import { configOfSlot, readSlot, variablesOfSlot } from "./slot.ts";

const settings = (flags: Partial<Record<FlagName, string>>) =>
  resolveConfig({
    command: "work",
    flags: new Map(Object.entries(flags).map(([name, value]) => [name as FlagName, [value]])),
    env: {},
  });
const slot = { number: 2, of: 4 };
const ofSlot = (flags: Partial<Record<FlagName, string>>) => configOfSlot(settings(flags), { slot, freeBytes: 800e9 });

it("gives a slot its name, files and port, and its part of memory and disk", () => {
  const config = ofSlot({
    name: "gpu",
    memory: "400M",
    "disk-budget": "100G",
    "local-port": "9000",
    queue: "nightly",
  });
  expect([config.text("name"), config.text("queue")]).toEqual(["gpu-slot-2", "nightly"]);
  expect(config.number("local-port")).toBe(9001);
  expect([config.size("memory"), config.size("disk-budget")]).toEqual([100e6, 25e9]);
});

it("shares the half of the free disk that captures may take, and gives no slot less memory than a worker needs", () => {
  const config = ofSlot({ name: "n".repeat(64), memory: "64M" });
  expect([config.size("disk-budget"), config.size("memory")]).toEqual([100e9, 32e6]);
  expect(config.text("name")).toBe(`${"n".repeat(57)}-slot-2`);
  expect(config.number("local-port")).toBeNull();
});

it("knows the slot of this process, and refuses a variable that no start has set", () => {
  const config = settings({ slots: "4" });
  expect(readSlot(config, {})).toBeNull();
  expect(readSlot(config, { TIDEMARK_SLOT: "2" })).toEqual(slot);
  for (const text of ["0", "5", "1.5", "two", ""])
    expect(() => readSlot(config, { TIDEMARK_SLOT: text })).toThrow(/take it out of the environment/);
});

it("keeps the variables of a slot from the environment of its job", () => {
  expect(variablesOfSlot({ TIDEMARK_SLOT: "2", CUDA_VISIBLE_DEVICES: "1", HOME: "/root" })).toEqual({
    TIDEMARK_SLOT: "2",
    CUDA_VISIBLE_DEVICES: "1",
  });
});
