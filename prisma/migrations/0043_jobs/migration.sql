-- Jobs, their attempts, labels and bans, and paused queues.
CREATE TABLE "Job" (
    "seq" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "id" TEXT NOT NULL,
    "queue" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "run" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "priority" INTEGER NOT NULL,
    "rank" INTEGER NOT NULL,
    "dueAt" DATETIME NOT NULL,
    "ownerId" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "idempotencyKey" TEXT,
    "needGpuBytes" BIGINT NOT NULL DEFAULT 0,
    "needDiskBytes" BIGINT NOT NULL DEFAULT 0,
    "needUplink" REAL NOT NULL DEFAULT 0,
    "needLabels" TEXT NOT NULL DEFAULT '{}',
    "longestSeconds" INTEGER,
    "noProgressSeconds" INTEGER,
    "mostFailures" INTEGER NOT NULL,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "setbacks" INTEGER NOT NULL DEFAULT 0,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "nodeId" TEXT,
    "reason" TEXT,
    "createdAt" DATETIME NOT NULL,
    "startedAt" DATETIME,
    "endedAt" DATETIME,
    "spec" TEXT NOT NULL
);
CREATE TABLE "JobAttempt" (
    "jobId" TEXT NOT NULL,
    "attempt" INTEGER NOT NULL,
    "nodeId" TEXT NOT NULL,
    "bootId" TEXT NOT NULL,
    "epoch" INTEGER,
    "startedAt" DATETIME NOT NULL,
    "endedAt" DATETIME,
    "endedBy" TEXT,
    "outcome" TEXT,
    "reason" TEXT,
    "exitCode" INTEGER,
    "signal" TEXT,
    "fromStep" BIGINT,
    "toStep" BIGINT,
    "safeStep" BIGINT,
    "progressAt" DATETIME,
    PRIMARY KEY ("jobId", "attempt"),
    CONSTRAINT "JobAttempt_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "JobAttempt_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE TABLE "JobLabel" (
    "jobId" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    PRIMARY KEY ("jobId", "name"),
    CONSTRAINT "JobLabel_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE TABLE "JobBan" (
    "jobId" TEXT NOT NULL,
    "nodeId" TEXT NOT NULL,
    "until" DATETIME NOT NULL,
    "reason" TEXT NOT NULL,
    PRIMARY KEY ("jobId", "nodeId"),
    CONSTRAINT "JobBan_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "JobBan_nodeId_fkey" FOREIGN KEY ("nodeId") REFERENCES "Node" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE TABLE "JobQueue" (
    "name" TEXT NOT NULL PRIMARY KEY,
    "pausedAt" DATETIME,
    "pausedBy" TEXT
);
CREATE UNIQUE INDEX "Job_id_key" ON "Job"("id");
CREATE INDEX "Job_queue_state_rank_seq_idx" ON "Job"("queue", "state", "rank", "seq");
CREATE INDEX "Job_run_state_idx" ON "Job"("run", "state");
CREATE INDEX "Job_queue_startedAt_idx" ON "Job"("queue", "startedAt");
CREATE INDEX "Job_state_dueAt_idx" ON "Job"("state", "dueAt");
CREATE INDEX "Job_state_seq_idx" ON "Job"("state", "seq");
CREATE INDEX "Job_state_endedAt_idx" ON "Job"("state", "endedAt");
CREATE UNIQUE INDEX "Job_ownerId_idempotencyKey_key" ON "Job"("ownerId", "idempotencyKey");
CREATE INDEX "JobAttempt_endedAt_idx" ON "JobAttempt"("endedAt");
CREATE INDEX "JobAttempt_nodeId_endedAt_idx" ON "JobAttempt"("nodeId", "endedAt");
CREATE INDEX "JobLabel_name_value_idx" ON "JobLabel"("name", "value");
CREATE INDEX "JobBan_nodeId_idx" ON "JobBan"("nodeId");
CREATE INDEX "JobBan_until_idx" ON "JobBan"("until");
