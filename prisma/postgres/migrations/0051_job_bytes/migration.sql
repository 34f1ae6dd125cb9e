-- Jobs with inputs or outputs. A table of its own: a column behind the spec would make each look for a job read all specs.
CREATE TABLE "JobBytes" (
    "jobId" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "JobBytes_pkey" PRIMARY KEY ("jobId")
);
ALTER TABLE "JobBytes" ADD CONSTRAINT "JobBytes_jobId_fkey" FOREIGN KEY ("jobId") REFERENCES "Job"("id") ON DELETE CASCADE ON UPDATE CASCADE;
