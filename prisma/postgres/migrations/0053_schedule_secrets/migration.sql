-- Sealed secrets of the jobs of schedules.
CREATE TABLE "JobScheduleSecret" (
    "scheduleId" TEXT COLLATE "C" NOT NULL,
    "names" TEXT COLLATE "C" NOT NULL,
    "sealed" TEXT COLLATE "C" NOT NULL,
    "keyVersion" INTEGER NOT NULL,

    CONSTRAINT "JobScheduleSecret_pkey" PRIMARY KEY ("scheduleId")
);
ALTER TABLE "JobScheduleSecret" ADD CONSTRAINT "JobScheduleSecret_scheduleId_fkey" FOREIGN KEY ("scheduleId") REFERENCES "JobSchedule"("id") ON DELETE CASCADE ON UPDATE CASCADE;
