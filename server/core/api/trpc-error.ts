import { TRPCError } from "@trpc/server";
import { ZodError } from "zod";
import { isFault, type Fault, type FaultData } from "#protocol/faults/fault.ts";
import { FAULTS, type FaultCode } from "#protocol/faults/fault-table.ts";

/**
 * Returns the Fault inside an error that a procedure threw. Any other error becomes INTERNAL and reveals nothing of its
 * cause.
 */
export function faultDataOf(error: TRPCError): FaultData {
  if (isFault(error.cause)) return error.cause.toData();
  if (error.cause instanceof ZodError) {
    const issue = error.cause.issues[0];
    const subject = issue?.path.map(String).join(".") ?? "";
    return {
      code: "BAD_INPUT",
      ...(subject === "" ? {} : { subject: subject.slice(0, 256) }),
      ...(issue === undefined ? {} : { detail: issue.message.slice(0, 1024) }),
    };
  }
  switch (error.code) {
    case "NOT_FOUND":
    case "METHOD_NOT_SUPPORTED":
      return { code: "NOT_FOUND", detail: "there is no such procedure" };
    case "PAYLOAD_TOO_LARGE":
      return { code: "TOO_LARGE" };
    case "PARSE_ERROR":
    case "BAD_REQUEST":
    case "UNSUPPORTED_MEDIA_TYPE":
      return { code: "BAD_INPUT" };
    case "SERVICE_UNAVAILABLE":
      return { code: "SHUTTING_DOWN" };
    case "CLIENT_CLOSED_REQUEST":
      return { code: "CANCELLED" };
    default:
      return { code: "INTERNAL" };
  }
}

const TRPC_CODES: Record<number, TRPCError["code"]> = {
  400: "BAD_REQUEST",
  401: "UNAUTHORIZED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  409: "CONFLICT",
  412: "PRECONDITION_FAILED",
  413: "PAYLOAD_TOO_LARGE",
  422: "UNPROCESSABLE_CONTENT",
  426: "PRECONDITION_FAILED",
  429: "TOO_MANY_REQUESTS",
  499: "CLIENT_CLOSED_REQUEST",
  501: "NOT_IMPLEMENTED",
  502: "BAD_GATEWAY",
  503: "SERVICE_UNAVAILABLE",
  504: "GATEWAY_TIMEOUT",
};

/** Returns a tRPC error with the HTTP status of a Fault. */
export const trpcError = (fault: Fault): TRPCError =>
  new TRPCError({ code: TRPC_CODES[FAULTS[fault.code].http] ?? "INTERNAL_SERVER_ERROR", cause: fault });

/** Faults of the hub itself, not of the caller: they are logged as errors. */
export const OWN_FAILURES: ReadonlySet<FaultCode> = new Set([
  "INTERNAL",
  "HUB_DISK_FULL",
  "HUB_DATABASE_DAMAGED",
  "HUB_BUSY",
  "DATABASE_UNREACHABLE",
]);
