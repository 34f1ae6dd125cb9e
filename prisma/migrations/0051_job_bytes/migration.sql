-- Jobs with inputs or outputs. A table of its own: a column behind the spec would make each look for a job read all specs.
CREATE TABLE "JobBytes" (
    "jobId" TEXT NOT NULL PRIMARY KEY,
    CONSTRAINT "JobBytes_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
