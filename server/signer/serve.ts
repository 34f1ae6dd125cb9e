import type { Duplex } from "node:stream";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import { linesOf } from "./lines.ts";
import { keeperCall, type Keeper, type KeeperCall } from "./messages.ts";

function ask(keeper: Keeper, call: KeeperCall): Promise<unknown> {
  switch (call.call) {
    case "open":
      return keeper.open(call.input);
    case "seal":
      return keeper.seal(call.input);
    case "rewrap":
      return keeper.rewrap(call.input);
    case "sealText":
      return keeper.sealText(call.input);
    case "openText":
      return keeper.openText(call.input);
    case "sign":
      return keeper.sign(call.input);
    case "signRequest":
      return keeper.signRequest(call.input);
    case "askTemporary":
      return keeper.askTemporary(call.input);
    case "askSession":
      return keeper.askSession(call.input);
    case "makeSealKey":
      return keeper.makeSealKey(call.input);
    case "importSealKey":
      return keeper.importSealKey(call.input);
    case "exportSealKey":
      return keeper.exportSealKey(call.input);
    case "unwrap":
      return keeper.unwrap(call.input);
  }
}

async function reply(keeper: Keeper, line: string): Promise<object | null> {
  let id = 0;
  try {
    const parsed = keeperCall.safeParse(JSON.parse(line));
    if (!parsed.success) throw new Fault("BAD_INPUT", { op: "keeper" });
    id = parsed.data.id;
    return { id, ok: await ask(keeper, parsed.data) };
  } catch (error) {
    const { code, op, subject } = toFault(error).toData();
    // Details stay in this process, because they could contain a part of a secret.
    return { id, fault: { code, ...(op === undefined ? {} : { op }), ...(subject === undefined ? {} : { subject }) } };
  }
}

/** Answers calls over `pipe` until it ends. Calls are answered in the order they come. */
export async function serveKeeper(keeper: Keeper, pipe: Duplex): Promise<void> {
  for await (const line of linesOf(pipe)) {
    if (line === "") continue;
    pipe.write(`${JSON.stringify(await reply(keeper, line))}\n`);
  }
}
