#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes one synthetic run of 12 launches in every profile format that stemtap reads, next to this script.

The files called "marked" also have its ranges and steps, as far as the format contains them.
stemtap/marked.stemtap is csv/marked.csv, converted by stemtap.

tests/formats/importers/samples_test.cpp tests the importers with it, and the fuzzers use it as seeds.
"""
import csv
import json
import pathlib
import sqlite3

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ["void axpy<float>(int, float const*, float*)", "reduce_sum", "gemm_64x64(half*, half*)"]
# kernel, start ns, duration ns, stream, grid, block
RUN = [(i % 3, 1000 + 20_000 * i, [2_048, 3_584, 15_040][i % 3] + 32 * i, 7 + i % 2,
        ([16 + i // 3, 1, 1], [1, 1, 1], [8, 4, 2])[i % 3], ([256, 1, 1], [1024, 1, 1], [16, 16, 1])[i % 3])
       for i in range(12)]
# range and step of each launch; the last three are outside of both
MARKS = [(["decode", "decode/lib:gemm", "decode"][i % 3], i // 3) if i < 9 else ("", "") for i in range(12)]
EPOCH = 1_790_000_000_000_000_000


def write(folder, name, text):
    (HERE / folder).mkdir(exist_ok=True)
    (HERE / folder / name).write_text(text)


def ranges():
    """Returns text, domain, start and end of each range of MARKS: launch calls begin 500 ns before their kernels."""
    for i in range(0, 9, 3):
        first, second, third = (RUN[i + k][1] for k in range(3))
        yield "decode", "", first - 700, third - 400
        yield "gemm", "lib", second - 600, second - 400


def nsys_sqlite(name="sample", marked=False):
    (HERE / "nsys-sqlite").mkdir(exist_ok=True)
    path = HERE / f"nsys-sqlite/{name}.sqlite"
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size = 512")
    db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)")
    db.execute("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)")
    db.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.11.0')")
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(NAMES))
    db.execute("""CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
        deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
        demangledName INTEGER, shortName INTEGER, mangledName INTEGER, gridX INTEGER, gridY INTEGER,
        gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER,
        dynamicSharedMemory INTEGER, graphNodeId INTEGER)""")
    for i, (k, start, duration, stream, grid, block) in enumerate(RUN):
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + "?," * 18 + "?)",
                   (start, start + duration, 0, 1, stream, i + 1, 1 << 24, k, k, None, *grid, *block, 0, 0, None))
    if marked:
        thread = (1 << 24) + 5
        db.execute("""CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
            globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL)""")
        for i, row in enumerate(RUN):
            db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?)",
                       (row[1] - 500, row[1] - 450, thread, i + 1, 0))
        db.execute("""CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
            text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER)""")
        db.execute("INSERT INTO StringIds VALUES (90, 'decode')")
        db.execute("INSERT INTO NVTX_EVENTS VALUES (1, NULL, 75, 'lib', ?, NULL, 4)", (thread,))
        for text, domain, start, end in ranges():
            db.execute("INSERT INTO NVTX_EVENTS VALUES (?,?,59,?,?,?,?)",
                       (start, end, text if domain else None, thread, None if domain else 90, 4 if domain else 0))
    db.commit()
    db.close()


def rocpd():
    (HERE / "rocpd").mkdir(exist_ok=True)
    path = HERE / "rocpd/sample.db"
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size = 512")
    uuid = "_01890a5d_ac96_774b_bcce_b302099a8057"
    key = "id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, guid TEXT NOT NULL DEFAULT 'g', nid INTEGER, pid INTEGER"
    db.execute(f"CREATE TABLE rocpd_info_agent{uuid} ({key}, type TEXT, absolute_index INTEGER, type_index INTEGER)")
    db.execute(f"CREATE TABLE rocpd_info_kernel_symbol{uuid} ({key}, kernel_name TEXT, display_name TEXT)")
    db.execute(f"""CREATE TABLE rocpd_kernel_dispatch{uuid} ({key}, tid INTEGER, agent_id INTEGER, kernel_id INTEGER,
        dispatch_id INTEGER, queue_id INTEGER, stream_id INTEGER, start BIGINT, end BIGINT, group_segment_size INTEGER,
        workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x INTEGER,
        grid_size_y INTEGER, grid_size_z INTEGER)""")
    for table in ("info_agent", "info_kernel_symbol", "kernel_dispatch"):
        db.execute(f"CREATE VIEW rocpd_{table} AS SELECT * FROM rocpd_{table}{uuid}")
    db.executemany(f"INSERT INTO rocpd_info_agent{uuid} VALUES (?, 'g', 9, 100, ?, ?, ?)",
                   [(0, "CPU", 0, 0), (4, "GPU", 4, 0)])
    db.executemany(f"INSERT INTO rocpd_info_kernel_symbol{uuid} VALUES (?, 'g', 9, 100, ?, ?)",
                   [(i + 1, f"_Z{i}.kd", name) for i, name in enumerate(NAMES)])
    for i, (k, start, duration, stream, grid, block) in enumerate(RUN):
        items = [g * b for g, b in zip(grid, block)]
        db.execute(f"INSERT INTO rocpd_kernel_dispatch{uuid} VALUES (" + "?," * 18 + "?)",
                   (i + 1, "g", 9, 100, 100, 4, k + 1, i + 1, 1, stream, start, start + duration, 0, *block, *items))
    db.commit()
    db.close()


def micro(ns):
    return f"@{ns // 1000}.{ns % 1000:03}@"


def marked_kineto():
    def event(category, name, start, end, pid, tid, **args):
        return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": micro(start),
                "dur": micro(end - start), "args": args}
    events = []
    for i, (k, start, duration, stream, grid, block) in enumerate(RUN):
        at = EPOCH // 1000 + start
        events.append(event("cuda_runtime", "cudaLaunchKernel", at - 500, at - 450, 1, 1, correlation=i + 1))
        events.append(event("kernel", NAMES[k], at, at + duration, 0, stream, device=0, stream=stream,
                            correlation=i + 1, grid=grid, block=block, **{"shared memory": 0}))
    for i, (text, domain, start, end) in enumerate(ranges()):
        at = EPOCH // 1000 + start
        name = f"{domain}:{text}" if domain else text
        events.append(event("user_annotation", name, at, EPOCH // 1000 + end, 1, 1))
        if not domain:
            events.append(event("user_annotation", f"ProfilerStep#{7 + i // 2}", at, EPOCH // 1000 + end, 1, 2))
    text = json.dumps({"schemaVersion": 1, "traceEvents": events}, indent=0)
    write("kineto", "marked.json", text.replace('"@', "").replace('@"', "") + "\n")


def kineto():
    events = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}]
    for i, (k, start, duration, stream, grid, block) in enumerate(RUN):
        at = EPOCH + start
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                       "ts": f"@{(at - 9000) // 1000}.{(at - 9000) % 1000:03}@", "dur": 4,
                       "args": {"correlation": i + 1}})
        events.append({"ph": "X", "cat": "kernel", "name": NAMES[k], "pid": 0, "tid": stream,
                       "ts": f"@{at // 1000}.{at % 1000:03}@", "dur": f"@{duration // 1000}.{duration % 1000:03}@",
                       "args": {"device": 0, "context": 1, "stream": stream, "correlation": i + 1,
                                "grid": grid, "block": block, "shared memory": 0}})
    text = json.dumps({"schemaVersion": 1, "traceEvents": events, "baseTimeNanoseconds": 0}, indent=0)
    write("kineto", "sample.json", text.replace('"@', "").replace('@"', "") + "\n")
    old = [dict(e, cat="Kernel") if e.get("cat") == "kernel" else e for e in events]
    write("kineto", "array.json", json.dumps(old).replace('"@', "").replace('@"', "") + "\n")


def proton():
    text = ""
    for line in sorted({r[3] for r in RUN}):
        events = [{"args": {"call_stack": ["ROOT", "main", NAMES[k]]}, "cat": "kernel", "dur": duration / 1000,
                   "name": NAMES[k], "ph": "X", "tid": stream, "ts": (start - RUN[0][1]) / 1000}
                  for k, start, duration, stream, _, _ in RUN if stream == line]
        text += json.dumps({"displayTimeUnit": "us", "traceEvents": events}) + "\n"
    write("kineto", "proton.chrome_trace", text)


def jax():
    def name(kind, pid, text, **more):
        return {"ph": "M", "pid": pid, **more, "name": kind, "args": {"name": text}}
    events = [name("process_name", 1, "/device:GPU:0"), name("thread_name", 1, "Stream #7(Compute)", tid=7),
              name("thread_name", 1, "Stream #8(MemcpyH2D,Compute)", tid=8), name("thread_name", 1, "XLA Ops", tid=99),
              name("process_name", 701, "/host:CPU"), name("thread_name", 701, "python", tid=1)]
    for i, (k, start, duration, stream, grid, block) in enumerate(RUN):
        events.append({"ph": "X", "pid": 701, "tid": 1, "ts": (start - 900) / 1000, "dur": 0.5, "name": "PjitFunction(f)"})
        events.append({"ph": "X", "pid": 1, "tid": stream, "ts": start / 1000, "dur": duration / 1000, "name": NAMES[k],
                       "args": {"context_id": "$$1", "correlation_id": str(i + 1), "hlo_module": "jit_f",
                                "kernel_details": "regs:32 static_shared:0 dynamic_shared:0 grid:{},{},{} block:{},{},{} "
                                "occ_pct:50".format(*grid, *block)}})
        events.append({"ph": "X", "pid": 1, "tid": 99, "ts": start / 1000, "dur": duration / 1000, "name": "fusion"})
    events += [{"ph": "X", "pid": 1, "tid": 8, "ts": 0.1, "dur": 0.2, "name": "MemcpyH2D",
                "args": {"memcpy_details": "kind_src:pageable kind_dst:device size:4 dest:0 async:1"}}, {}]
    write("kineto", "jax.trace.json", json.dumps({"displayTimeUnit": "ns", "metadata": {"highres-ticks": True},
                                                  "traceEvents": events}) + "\n")


def unitrace():
    """The metadata is last, and names contain the shape."""
    text = '{ "traceEvents":[\n'
    for i, (k, start, duration, stream, grid, block) in enumerate(RUN):
        at = EPOCH + start
        text += (f'{{"ph": "X", "tid": {4294967303 - stream}, "pid": 4294967295, "name": "{NAMES[k]}[SIMD32 '
                 f'{{{grid[0]}; {grid[1]}; {grid[2]}}} {{{block[0]}; {block[1]}; {block[2]}}}]", "cat": "gpu_op", '
                 f'"ts": {at // 1000}.{at % 1000:03}000, "dur": {duration / 1000:.6f}, "args": {{"id": "{i + 5}"}}}},\n')
        text += f'{{"ph": "t", "tid": 1, "pid": 9, "name": "dep", "cat": "Flow_H2D_{i}_0", "ts": 1, "id": {i}}},\n'
    text += ('{"ph": "X", "tid": 4294967294, "pid": 4294967295, "name": "zeCommandListAppendMemoryCopy(M2D)[64]", '
             '"cat": "gpu_op", "ts": 1, "dur": 2, "args": {"id": "4"}},\n'
             '{"ph": "M", "name": "process_name", "pid": 4294967295, "ts": 1, "args": {"name": "DEVICE<host>0:1:0:0 #0"}}'
             '\n]\n}\n')
    write("kineto", "unitrace.json", text)


def ascend_trace():
    events = [{"name": "process_name", "pid": 7, "tid": 0, "args": {"name": "Python"}, "ph": "M"}]
    for i, (k, start, duration, stream, *_) in enumerate(RUN):
        at = EPOCH + start
        events.append({"name": "aten::mm", "pid": 7, "tid": 1, "ts": f"{(at - 5000) // 1000}.000", "dur": 4.5,
                       "cat": "cpu_op", "args": {}, "ph": "X"})
        events.append({"name": NAMES[k], "pid": 424, "tid": stream, "ts": f"{at // 1000}.{at % 1000:03}",
                       "dur": duration / 1000, "ph": "X",
                       "args": {"Model Id": 4294967295, "Task Type": "AI_CORE", "Physic Stream Id": stream,
                                "Task Id": i, "Batch Id": 0, "Subtask Id": 4294967295, "connection_id": 100 + i}})
    events += [{"name": "EVENT_WAIT", "pid": 424, "tid": 7, "ts": f"{EPOCH // 1000}.000", "dur": 1.5, "ph": "X",
                "args": {"Task Type": "EVENT_WAIT", "connection_id": 4294967295}},
               {"name": "process_name", "pid": 424, "tid": 0, "args": {"name": "Ascend Hardware"}, "ph": "M"},
               {"name": "thread_name", "pid": 424, "tid": 7, "args": {"name": "Stream 7"}, "ph": "M"}]
    write("kineto", "ascend_trace_view.json", json.dumps(events) + "\n")


def varint(value):
    value %= 1 << 64
    text = b""
    while value >= 0x80:
        text += bytes([value & 0x7F | 0x80])
        value >>= 7
    return text + bytes([value])


def field(number, value):
    """A field of a protocol buffer: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def xplane():
    stats = ["correlation_id", "kernel_details", "memcpy_details"]
    details = ["regs:32 static_shared:0 dynamic_shared:0 grid:{},{},{} block:{},{},{} occ_pct:50".format(*grid, *block)
               for *_, grid, block in RUN]
    lines = b""
    for stream in (7, 8):
        events = b""
        for i, (k, start, duration, on, *_) in enumerate(RUN):
            if on == stream:
                stat = field(4, field(1, 1) + field(3, i + 1)) + field(4, field(1, 2) + field(7, 10 + i))
                events += field(4, field(1, k + 1) + field(2, 1000 * start) + field(3, 1000 * duration) + stat)
        copy = field(1, 9) + field(2, 100) + field(3, 200) + field(4, field(1, 3) + field(5, "size:4"))
        lines += field(3, field(1, stream) + field(2, f"Stream #{stream}(Compute)") + field(3, EPOCH) + events
                       + field(4, copy))
    lines += field(3, field(1, 99) + field(2, "XLA Ops") + field(4, field(1, 8) + field(2, 5) + field(3, 7)))
    names = b"".join(field(4, field(1, i) + field(2, field(1, i) + field(2, name)))
                     for i, name in [*enumerate(NAMES, 1), (8, "fusion"), (9, "MemcpyH2D")])
    names += b"".join(field(5, field(1, i) + field(2, field(1, i) + field(2, name)))
                      for i, name in [*enumerate(stats, 1), *enumerate(details, 10)])
    host = field(1, 2) + field(2, "/host:CPU") + field(3, field(1, 1) + field(2, "python"))
    (HERE / "xplane").mkdir(exist_ok=True)
    (HERE / "xplane/sample.xplane.pb").write_bytes(
        field(1, host) + field(1, field(1, 1) + field(2, "/device:GPU:0") + lines + names) + field(4, "host"))


def nsys_csv():
    gpu = ("Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),"
           "Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n")
    gpu += "500,100,1,,,,,,,,,,0.001,10.0,Pageable,Device,Acme G1 (0),1,,7,[CUDA memcpy Host-to-Device]\n"
    executed = ("API Start (ns),API Dur (ns),Queue Start (ns),Queue Dur (ns),Kernel Start (ns),Kernel Dur (ns),"
                "Total Dur (ns),PID,TID,DevId,API Function,GridXYZ,BlockXYZ,Kernel Name\n")
    for i, (k, start, duration, stream, grid, block) in enumerate(RUN):
        gpu += (f"{start},{duration},{i + 2},{grid[0]},{grid[1]},{grid[2]},{block[0]},{block[1]},{block[2]},32,"
                f"0.000,0.000,,,,,Acme G1 (0),1,,{stream},\"{NAMES[k]}\"\n")
        xyz = ["%4d %4d %4d" % tuple(v) for v in (grid, block)]
        executed += (f"{start - 600},400,,,{start},{duration},{duration + 600},100,100,0,cudaLaunchKernel,"
                     f"{xyz[0]},{xyz[1]},\"{NAMES[k]}\"\n")
    write("nsys-csv", "gpu_trace.csv", gpu)
    write("nsys-csv", "kern_exec_trace.csv", executed)
    for name, text in (("gpu_trace", gpu), ("kern_exec_trace", executed)):
        head, *rows = csv.reader(text.splitlines())
        write("nsys-csv", name + ".tsv", "".join("\t".join(row) + "\n" for row in [head, *rows]))
        objects = [dict(zip(head, (float(c) if "." in c else int(c) if c.isdecimal() else c for c in row)))
                   for row in rows]
        write("nsys-csv", name + ".json", json.dumps(objects, indent=2) + "\n")


def ncu_csv():
    head = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size",
            "Grid Size", "Device", "CC"]
    raw = "==PROF== Connected to process 100 (app)\n"
    raw += ",".join(f'"{h}"' for h in head + ["gpu__time_duration.sum", "smsp__inst_executed.sum"]) + "\n"
    raw += ",".join(['""'] * len(head) + ['"us"', '"inst"']) + "\n"
    details = ",".join(f'"{h}"' for h in head + ["Section Name", "Metric Name", "Metric Unit", "Metric Value"]) + "\n"
    for i, (k, _, duration, stream, grid, block) in enumerate(RUN):
        size = ["({}, {}, {})".format(*v) for v in (block, grid)]
        cells = [i, 100, "app", "127.0.0.1", NAMES[k], 1, stream, size[0], size[1], 0, "9.0"]
        row = ",".join(f'"{c}"' for c in cells)
        raw += row + f',"{duration / 1000:.2f}","{1000 * (k + 1):,}"\n'
        details += row + f',"Speed Of Light","Duration","usecond","{duration / 1000:.2f}"\n'
        details += row + f',"Instruction Statistics","Executed Instructions","inst","{1000 * (k + 1):,}"\n'
    write("ncu-csv", "raw.csv", raw)
    write("ncu-csv", "details.csv", details)


def nvprof_csv():
    text = "==100== NVPROF is profiling process 100, command: ./app\n==100== Profiling result:\n"
    text += ('"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread",'
             '"Static SMem","Dynamic SMem","Size","Throughput","SrcMemType","DstMemType","Device","Context",'
             '"Stream","Name"\n')
    text += "ms,us,,,,,,,,B,B,KB,GB/s,,,,,,\n"
    for i, (k, start, duration, stream, grid, block) in enumerate(RUN):
        text += (f"{start / 1e6:.6f},{duration / 1e3:.6f},{grid[0]},{grid[1]},{grid[2]},{block[0]},{block[1]},"
                 f'{block[2]},32,0,0,,,,,"Acme G1 (0)","1","{stream}","{NAMES[k]} [{i + 1}]"\n')
    write("nvprof-csv", "sample.csv", text)


def rocprofv3_csv():
    text = ('"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
            '"Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Scratch_Size","VGPR_Count",'
            '"Accum_VGPR_Count","SGPR_Count","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z",'
            '"Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n')
    for i, (k, start, duration, stream, grid, block) in enumerate(RUN):
        items = [g * b for g, b in zip(grid, block)]
        text += (f'"KERNEL_DISPATCH","GPU 0",1,{stream},100,{i + 1},{k + 1},"{NAMES[k]}",{i + 1},{start},'
                 f"{start + duration},0,0,16,0,32,{block[0]},{block[1]},{block[2]},{items[0]},{items[1]},{items[2]}\n")
    write("rocprofv3-csv", "sample.csv", text)


def ascend_csv():
    details = ("Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),"
               "Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes\n")
    summary = ("Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),"
               "Task Duration(us),Task Wait Time(us),Block Num\n")
    for i, (k, start, duration, stream, *_) in enumerate(RUN):
        at = EPOCH + start
        times = f"{at // 1000}.{at % 1000:03}\t,{duration / 1000:.3f},0"
        details += f'0,4294967295,{i},{stream},"{NAMES[k]}",Op{k},dynamic,AI_CORE,{times},0,0,NO,"""4,4;4"""\n'
        summary += f'0,1,{i},{stream},"{NAMES[k]}",Op{k},static,MIX_AIC,{times},N/A\n'
    write("ascend-csv", "kernel_details.csv", details)
    write("ascend-csv", "op_summary.csv", summary)


def stem_csv():
    columns = [[d for k, _, d, *_ in RUN if k == kernel] for kernel in range(3)]
    text = "\ufeff" + ",".join(f'"{n}"' if "," in n else n for n in NAMES) + "\n"
    for row in zip(*columns):
        text += ",".join(str(d) for d in row) + "\n"
    write("stem-csv", "sample.csv", text)


def canonical_csv():
    text = "index,start_ns,duration_ns,device,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,shared_bytes,graph_id,name\n"
    for i, (k, start, duration, stream, grid, block) in enumerate(RUN):
        text += (f"{i},{start - RUN[0][1]},{duration},0,{stream},{grid[0]},{grid[1]},{grid[2]},{block[0]},"
                 f'{block[1]},{block[2]},0,,"{NAMES[k]}"\n')
    write("csv", "sample.csv", text)
    header, *rows = text.splitlines()
    rows = [f"{row},{mark[0]},{mark[1]}" for row, mark in zip(rows, MARKS)]
    write("csv", "marked.csv", "\n".join([header + ",range,step"] + rows) + "\n")


nsys_sqlite("marked", marked=True)
for make in (nsys_sqlite, rocpd, marked_kineto, kineto, proton, jax, unitrace, ascend_trace, xplane, nsys_csv, ncu_csv, nvprof_csv,
             rocprofv3_csv, ascend_csv, stem_csv, canonical_csv):
    make()
