"use client";
import { useMutation } from "@tanstack/react-query";
import type { FaultData } from "#protocol/faults/fault.ts";
import { faultOf } from "../faults/fault-of.ts";

/** An action of a person at the hub. `busy` while it runs; `fault` keeps its failure until the next try. */
export interface Action<Input, Result> {
  run: (input: Input, onDone?: (result: Result) => void) => void;
  busy: boolean;
  fault: FaultData | null;
  result: Result | undefined;
  reset: () => void;
}

export function useAction<Input, Result>(call: (input: Input) => Promise<Result>): Action<Input, Result> {
  const mutation = useMutation({ mutationFn: call });
  return {
    run: (input, onDone) => mutation.mutate(input, { onSuccess: (result) => onDone?.(result) }),
    busy: mutation.isPending,
    fault: mutation.isError ? faultOf(mutation.error) : null,
    result: mutation.data,
    reset: mutation.reset,
  };
}

/** Returns a new id for an idempotent request. `randomUUID` is not used because it is missing over plain HTTP. */
export function newRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
