/**
 * `online`: heard within its report cadence; `unconfirmed`: a report is overdue; `silent`: nothing for 30 s or longer;
 * `offline`: said goodbye; `revoked`.
 */
export type NodeState = "online" | "unconfirmed" | "silent" | "offline" | "revoked";
