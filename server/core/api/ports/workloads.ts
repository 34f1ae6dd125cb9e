/** A container, as its platform identifies it. */
interface Workload {
  organizationId: string;
  workloadId: string;
  machineId: string;
}

/** Verifies the identity of a container, and tells what its nodes get. */
export interface Workloads {
  /** Name of the bucket profile of its nodes; null: the only one there is. */
  readonly profileName: string | null;
  readonly fleet: string;
  /** Patterns of the runs that its nodes may write; null: those they name when they enroll, and new ones. */
  readonly runs: string | null;
  /** Verifies the signed identity of a container. @throws Fault WORKLOAD_REFUSED, WORKLOAD_KEYS_AWAY */
  verify(jwt: string): Promise<Workload>;
}
