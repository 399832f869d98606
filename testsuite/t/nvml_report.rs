// testsuite/t/nvml_report.rs - what a Rust program sees of each GPU, through the public NVML bindings.
//
// The struct layouts are those of nvml-wrapper-sys, made by its authors from NVIDIA's own header.
#![allow(non_snake_case)]
use nvml_wrapper_sys::bindings::*;
use std::ffi::CStr;
use std::os::raw::{c_char, c_uint};

fn must(what: &str, code: nvmlReturn_t) {
    if code != nvmlReturn_enum_NVML_SUCCESS {
        eprintln!("{what}: NVML says {code}");
        std::process::exit(1);
    }
}

fn text(bytes: &[c_char]) -> String {
    unsafe { CStr::from_ptr(bytes.as_ptr()) }.to_string_lossy().into_owned()
}

unsafe fn report(nvml: &NvmlLib, devices: &[nvmlDevice_t], index: usize) {
    let device = devices[index];
    let mut name = [0 as c_char; 96];
    must("name", nvml.nvmlDeviceGetName(device, name.as_mut_ptr(), 96));
    let mut uuid = [0 as c_char; 96];
    must("uuid", nvml.nvmlDeviceGetUUID(device, uuid.as_mut_ptr(), 96));
    println!("{index} name {}", text(&name));
    println!("{index} uuid {}", text(&uuid));

    let mut pci: nvmlPciInfo_t = std::mem::zeroed();
    must("pci", nvml.nvmlDeviceGetPciInfo_v3(device, &mut pci));
    println!("{index} pci {} {:x} {:08x}", text(&pci.busId), pci.bus, pci.pciDeviceId);

    let mut memory: nvmlMemory_t = std::mem::zeroed();
    must("memory", nvml.nvmlDeviceGetMemoryInfo(device, &mut memory));
    println!("{index} memory {} {} {}", memory.total, memory.used, memory.free);
    let mut memory: nvmlMemory_v2_t = std::mem::zeroed();
    memory.version = std::mem::size_of::<nvmlMemory_v2_t>() as c_uint | 2 << 24;
    must("memory v2", nvml.nvmlDeviceGetMemoryInfo_v2(device, &mut memory));
    println!("{index} memory-v2 {} {} {}", memory.total, memory.reserved, memory.used);

    let mut busy: nvmlUtilization_t = std::mem::zeroed();
    must("utilisation", nvml.nvmlDeviceGetUtilizationRates(device, &mut busy));
    println!("{index} busy {}", busy.gpu);

    let mut processes: [nvmlProcessInfo_t; 8] = std::mem::zeroed();
    let mut count: c_uint = 8;
    must(
        "processes",
        nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, &mut count, processes.as_mut_ptr()),
    );
    for process in &processes[..count as usize] {
        println!("{index} process {} {}", process.pid, process.usedGpuMemory);
    }

    let mut cpus = [0u64; 2];
    must("CPUs", nvml.nvmlDeviceGetCpuAffinity(device, 2, cpus.as_mut_ptr()));
    println!("{index} cpus {:016x} {:016x}", cpus[0], cpus[1]);
    let mut levels = Vec::new();
    for other in devices {
        let mut level: nvmlGpuTopologyLevel_t = 0;
        must("topology", nvml.nvmlDeviceGetTopologyCommonAncestor(device, *other, &mut level));
        levels.push(level.to_string());
    }
    println!("{index} shares {}", levels.join(" "));
    for link in 0..6 {
        let mut peer: nvmlPciInfo_t = std::mem::zeroed();
        must("NVLink", nvml.nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &mut peer));
        println!("{index} link {}", text(&peer.busId));
    }
}

/// Says "ready" when it waits, then the first Xid that any GPU has.
unsafe fn wait_for_xid(nvml: &NvmlLib, devices: &[nvmlDevice_t]) {
    let mut set: nvmlEventSet_t = std::ptr::null_mut();
    must("event set", nvml.nvmlEventSetCreate(&mut set));
    for device in devices {
        let mut types: u64 = 0;
        must("event types", nvml.nvmlDeviceGetSupportedEventTypes(*device, &mut types));
        let wanted = types & nvmlEventTypeXidCriticalError as u64;
        must("register", nvml.nvmlDeviceRegisterEvents(*device, wanted, set));
    }
    println!("ready");
    let mut event: nvmlEventData_t = std::mem::zeroed();
    must("wait", nvml.nvmlEventSetWait_v2(set, &mut event, 30000));
    let index = devices.iter().position(|device| *device == event.device).unwrap();
    println!("{index} xid {} {} {}", event.eventType, event.eventData, event.gpuInstanceId);
    must("free", nvml.nvmlEventSetFree(set));
    let mut errors: u64 = 0;
    let device = event.device;
    must("errors", nvml.nvmlDeviceGetTotalEccErrors(device, 1, 0, &mut errors));
    println!("{index} errors {errors}");
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: nvml_report LIBRARY [events]");
    unsafe {
        let nvml = NvmlLib::new(path).expect("the library does not load");
        must("nvmlInit", nvml.nvmlInit_v2());
        let mut count: c_uint = 0;
        must("count", nvml.nvmlDeviceGetCount_v2(&mut count));
        let mut devices = Vec::new();
        for index in 0..count {
            let mut device: nvmlDevice_t = std::ptr::null_mut();
            must("handle", nvml.nvmlDeviceGetHandleByIndex_v2(index, &mut device));
            devices.push(device);
        }
        if std::env::args().nth(2).is_some() {
            wait_for_xid(&nvml, &devices);
        } else {
            for index in 0..devices.len() {
                report(&nvml, &devices, index);
            }
        }
        must("nvmlShutdown", nvml.nvmlShutdown());
    }
}
