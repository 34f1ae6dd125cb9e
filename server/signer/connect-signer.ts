import type { Duplex } from "node:stream";
import type * as z from "zod";
import { Fault, type FaultData } from "#protocol/faults/fault.ts";
import { linesOf } from "./lines.ts";
import {
  askTemporaryOutput,
  signerReply,
  openOutput,
  openTextOutput,
  sealKeyOutput,
  sealOutput,
  signOutput,
  signRequestOutput,
  unwrapOutput,
  type Signer,
  type SignerCall,
} from "./messages.ts";

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (fault: Fault) => void;
}

const faultOf = ({ code, op, subject }: FaultData): Fault =>
  new Fault(code, { ...(op === undefined ? {} : { op }), ...(subject === undefined ? {} : { subject }) });

/** Returns the hub's end of the pipe to the signer. When the pipe ends, all waiting calls fail with INTERNAL. */
export function connectSigner(pipe: Duplex): Signer {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let ended = false;
  const gone = () => new Fault("INTERNAL", { op: "signer", detail: "the process that holds the keys has ended" });

  const read = async (): Promise<void> => {
    for await (const line of linesOf(pipe)) {
      const reply = signerReply.parse(JSON.parse(line));
      const call = waiting.get(reply.id);
      waiting.delete(reply.id);
      if (reply.fault === undefined) call?.resolve(reply.ok);
      else call?.reject(faultOf(reply.fault));
    }
  };
  const end = () => {
    ended = true;
    for (const call of waiting.values()) call.reject(gone());
    waiting.clear();
  };
  pipe.on("error", end);
  read().then(end, end);

  const ask = async <T>(call: Pick<SignerCall, "call" | "input">, output: z.ZodType<T>): Promise<T> => {
    if (ended) throw gone();
    const id = ++lastId;
    const answer = new Promise<unknown>((resolve, reject) => waiting.set(id, { resolve, reject }));
    pipe.write(`${JSON.stringify({ id, ...call })}\n`);
    return output.parse(await answer);
  };

  return {
    open: (input) => ask({ call: "open", input }, openOutput),
    seal: (input) => ask({ call: "seal", input }, sealOutput),
    rewrap: (input) => ask({ call: "rewrap", input }, sealOutput),
    sealText: (input) => ask({ call: "sealText", input }, sealOutput),
    openText: (input) => ask({ call: "openText", input }, openTextOutput),
    sign: (input) => ask({ call: "sign", input }, signOutput),
    signRequest: (input) => ask({ call: "signRequest", input }, signRequestOutput),
    askTemporary: (input) => ask({ call: "askTemporary", input }, askTemporaryOutput),
    askSession: (input) => ask({ call: "askSession", input }, askTemporaryOutput),
    makeSealKey: (input) => ask({ call: "makeSealKey", input }, sealKeyOutput),
    importSealKey: (input) => ask({ call: "importSealKey", input }, sealKeyOutput),
    exportSealKey: (input) => ask({ call: "exportSealKey", input }, openTextOutput),
    unwrap: (input) => ask({ call: "unwrap", input }, unwrapOutput),
  };
}
