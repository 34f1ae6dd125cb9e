import { faultFrom } from "#protocol/faults/fault.ts";
import { faultOf } from "../_hub/faults/fault-of.ts";

/** Resolves with the result of a call to the hub. @throws Fault whenever the call fails */
export async function askHub<Result>(call: Promise<Result>): Promise<Result> {
  try {
    return await call;
  } catch (error) {
    throw faultFrom(faultOf(error));
  }
}
