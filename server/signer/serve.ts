import type { Duplex } from "node:stream";
import { Fault, toFault } from "#protocol/faults/fault.ts";
import { linesOf } from "./lines.ts";
import { signerCall, type Signer, type SignerCall } from "./messages.ts";

function ask(signer: Signer, call: SignerCall): Promise<unknown> {
  switch (call.call) {
    case "open":
      return signer.open(call.input);
    case "seal":
      return signer.seal(call.input);
    case "rewrap":
      return signer.rewrap(call.input);
    case "sealText":
      return signer.sealText(call.input);
    case "openText":
      return signer.openText(call.input);
    case "sign":
      return signer.sign(call.input);
    case "signRequest":
      return signer.signRequest(call.input);
    case "askTemporary":
      return signer.askTemporary(call.input);
    case "askSession":
      return signer.askSession(call.input);
    case "makeSealKey":
      return signer.makeSealKey(call.input);
    case "importSealKey":
      return signer.importSealKey(call.input);
    case "exportSealKey":
      return signer.exportSealKey(call.input);
    case "unwrap":
      return signer.unwrap(call.input);
  }
}

async function reply(signer: Signer, line: string): Promise<object | null> {
  let id = 0;
  try {
    const parsed = signerCall.safeParse(JSON.parse(line));
    if (!parsed.success) throw new Fault("BAD_INPUT", { op: "signer" });
    id = parsed.data.id;
    return { id, ok: await ask(signer, parsed.data) };
  } catch (error) {
    const { code, op, subject } = toFault(error).toData();
    // Details stay in this process, because they could contain a part of a secret.
    return { id, fault: { code, ...(op === undefined ? {} : { op }), ...(subject === undefined ? {} : { subject }) } };
  }
}

/** Answers calls over `pipe` until it ends. Calls are answered in the order they come. */
export async function serveSigner(signer: Signer, pipe: Duplex): Promise<void> {
  for await (const line of linesOf(pipe)) {
    if (line === "") continue;
    pipe.write(`${JSON.stringify(await reply(signer, line))}\n`);
  }
}
