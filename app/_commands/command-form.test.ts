import { describe, expect, it } from "vitest";
import { sendCommandInput } from "#protocol/wire/send-command.ts";
import { NEW_COMMAND, commandCurl, COMMANDS, readCommand, type CommandForm } from "./command-form.ts";

const form = (changes: Partial<CommandForm>): CommandForm => ({ ...NEW_COMMAND, ...changes });
const NODE = "0123456789abcdef0123456789abcdef";

describe("an order", () => {
  it("can be asked for in every kind, as the hub reads it", () => {
    for (const { kind } of COMMANDS) {
      const read = readCommand(form({ kind, run: "llama", up: "20Mbit" }));
      if (!("order" in read)) throw new Error(`${kind}: ${read.error}`);
      const input = { requestId: NODE, to: { nodeIds: [NODE] }, order: read.order };
      expect(sendCommandInput.parse(input).order.kind).toBe(kind);
    }
  });

  it("is about all runs unless one is named", () => {
    expect(readCommand(form({ kind: "flush" }))).toMatchObject({ order: { run: null } });
    expect(readCommand(form({ kind: "flush", run: "llama" }))).toMatchObject({ order: { run: "llama" } });
    expect(readCommand(form({ kind: "priority" }))).toMatchObject({ field: "run" });
  });

  it("limits what is said and leaves the rest as it is", () => {
    expect(readCommand(form({ kind: "limit", up: "20Mbit" }))).toEqual({
      order: { kind: "limit", until: null, up: 2_500_000 },
    });
    expect(readCommand(form({ kind: "limit", down: "none" }))).toEqual({
      order: { kind: "limit", until: null, down: 0 },
    });
    expect(readCommand(form({ kind: "limit" }))).toMatchObject({ field: "up" });
    expect(readCommand(form({ kind: "limit", up: "1MB/s", down: "fast" }))).toMatchObject({ field: "down" });
    expect(readCommand(form({ kind: "limit", up: "20" }))).toMatchObject({ field: "up" });
  });

  it("has a grace that is a time, a day at most", () => {
    expect(readCommand(form({ kind: "stop", grace: "2m" }))).toEqual({ order: { kind: "stop", graceMs: 120_000 } });
    expect(readCommand(form({ kind: "stop", grace: "soon" }))).toMatchObject({ field: "grace" });
    expect(readCommand(form({ kind: "reallocate", grace: "2d" }))).toMatchObject({ field: "grace" });
  });
});

describe("its line for a shell", () => {
  it("sends what the form would, with a number of its own", () => {
    const order = { kind: "reallocate" as const, graceMs: 0, reason: "it's slow" };
    const line = commandCurl(order, { nodeIds: [NODE], hubUrl: "https://hub.example" });
    // As a shell reads it: what stands between quotes, and a quote where one was closed, escaped and opened again.
    const words = [...line.matchAll(/'((?:[^']|'\\''|'"\$\(openssl rand -hex 16\)"')*)'/g)].map(([, word = ""]) =>
      word.replace(`'"$(openssl rand -hex 16)"'`, NODE).replaceAll(String.raw`'\''`, "'"),
    );
    expect(words.at(-1)).toBe("https://hub.example/api/trpc/commands.send");
    const body: unknown = JSON.parse(words.at(-2) ?? "");
    expect(body).toEqual({ requestId: NODE, to: { nodeIds: [NODE] }, order });
  });
});
