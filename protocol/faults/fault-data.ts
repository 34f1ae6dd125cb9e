import * as z from "zod";
import type { FaultData } from "./fault.ts";
import { FAULTS, type FaultCode } from "./fault-table.ts";

const isCode = (code: string): code is FaultCode => Object.hasOwn(FAULTS, code);

/** Parses a Fault from another process. Separate from `fault.ts`, so that pages which only show faults load no parser. */
export const faultData: z.ZodType<FaultData> = z.object({
  code: z.string().max(64).refine(isCode, "not a code of this version"),
  op: z.string().max(64).optional(),
  subject: z.string().max(1024).optional(),
  detail: z.string().max(2048).optional(),
  status: z.number().int().min(0).max(999).optional(),
  requestId: z.string().max(256).optional(),
});
