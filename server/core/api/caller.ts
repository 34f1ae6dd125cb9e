import type { Person } from "#protocol/wire/views.ts";

/** The author of a call, by the credentials of the request. */
export type Caller =
  | { kind: "nobody" }
  /** `address` is the client's, for the audit; absent where no request was made. */
  | { kind: "person"; person: Person; sessionHash: string; address?: string }
  /** A program of a person: `person.role` is the lesser of the token's role and its owner's. */
  | { kind: "token"; person: Person; tokenId: string; tokenName: string; address?: string }
  /** `credentialHash` is null where a test made the caller. */
  | { kind: "node"; nodeId: string; name: string; profileId: string; credentialHash?: string };
export type SessionCaller = Extract<Caller, { kind: "person" }>;
export type PersonCaller = SessionCaller | Extract<Caller, { kind: "token" }>;
export type NodeCaller = Extract<Caller, { kind: "node" }>;
