/** A container, by the word of its platform. */
interface Workload {
  organizationId: string;
  workloadId: string;
  machineId: string;
}

/** Verifies who a container is, and says what nodes of it get. */
export interface Workloads {
  /** Name of the bucket profile that its nodes get; null: the only one there is. */
  readonly profileName: string | null;
  readonly fleet: string;
  /** Patterns of the runs that its nodes may write; null: those they name when they enrol, and new ones. */
  readonly runs: string | null;
  /** @throws Fault WORKLOAD_REFUSED, WORKLOAD_KEYS_AWAY */
  verify(jwt: string): Promise<Workload>;
}
