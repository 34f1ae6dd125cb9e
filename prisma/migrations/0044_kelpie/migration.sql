-- Jobs of the Kelpie-compatible API: their attempts have a machine and no node, and they call webhooks.
CREATE TABLE "new_JobAttempt" (
    "jobId" TEXT NOT NULL,
    "attempt" INTEGER NOT NULL,
    "nodeId" TEXT,
    "machine" TEXT,
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
INSERT INTO "new_JobAttempt" ("jobId", "attempt", "nodeId", "bootId", "epoch", "startedAt", "endedAt", "endedBy", "outcome",
    "reason", "exitCode", "signal", "fromStep", "toStep", "safeStep", "progressAt")
  SELECT "jobId", "attempt", "nodeId", "bootId", "epoch", "startedAt", "endedAt", "endedBy", "outcome",
    "reason", "exitCode", "signal", "fromStep", "toStep", "safeStep", "progressAt" FROM "JobAttempt";
DROP TABLE "JobAttempt";
ALTER TABLE "new_JobAttempt" RENAME TO "JobAttempt";
CREATE INDEX "JobAttempt_endedAt_idx" ON "JobAttempt"("endedAt");
CREATE INDEX "JobAttempt_nodeId_endedAt_idx" ON "JobAttempt"("nodeId", "endedAt");
CREATE TABLE "KelpieJob" (
    "jobId" TEXT NOT NULL PRIMARY KEY,
    "heartbeatSeconds" INTEGER NOT NULL,
    "webhook" TEXT,
    "machine" TEXT,
    "heartbeatAt" DATETIME,
    "heartbeats" INTEGER NOT NULL DEFAULT 0,
    "storage" TEXT NOT NULL,
    CONSTRAINT "KelpieJob_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE TABLE "JobMachineBan" (
    "jobId" TEXT NOT NULL,
    "machine" TEXT NOT NULL,
    "until" DATETIME NOT NULL,
    "reason" TEXT NOT NULL,
    PRIMARY KEY ("jobId", "machine"),
    CONSTRAINT "JobMachineBan_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE TABLE "JobWebhook" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "jobId" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "nextAt" DATETIME NOT NULL,
    CONSTRAINT "JobWebhook_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "JobMachineBan_until_idx" ON "JobMachineBan"("until");
CREATE INDEX "JobWebhook_jobId_idx" ON "JobWebhook"("jobId");
CREATE INDEX "JobWebhook_nextAt_idx" ON "JobWebhook"("nextAt");
CREATE INDEX "JobWebhook_url_nextAt_idx" ON "JobWebhook"("url", "nextAt");
