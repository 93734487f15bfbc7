#include "formats/pytorch/python_helpers.h"

#include <functional>

namespace twb::pytorch {

void addFileHelpers(std::vector<PythonHelper>& table) {
    table.push_back({"device", R"py(
DEVICES = {}  # what --device-map says: "cuda:0" -> "cpu"


def device(name):
    """What stands behind a device's name in this run."""
    if name == "auto":
        name = "cuda:0" if torch.cuda.is_available() else "cpu"
    return torch.device(DEVICES.get(name, name))
)py"});
    table.push_back({"pinned", R"py(
def pinned(tensor):
    """Page-locked, where there is a GPU to copy to."""
    return tensor.pin_memory() if torch.cuda.is_available() else tensor
)py"});
    table.push_back({"arrived", R"py(
def arrived(tensor):
    """Waits for a copy to the host that does not block: nobody may read it before."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return tensor
)py"});
    table.push_back({"load",
                     R"py(
def load(path, where):
    """A tensor of a .npy or .npz file beside this one, on a device."""
    file, _, name = path.partition("#")
    array = numpy.load(HERE / file)
    if file.endswith(".npz"):
        array = array[name or array.files[0]]
    return torch.from_numpy(array.astype(array.dtype.newbyteorder("="))).to(device(where))
)py",
                     {"device"}});
    table.push_back({"load_safetensors",
                     R"py(
SAFETENSORS = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
               "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8,
               "BOOL": torch.bool}


def load_safetensors(path, where):
    """One tensor of a .safetensors file (a length, a header in JSON, then the elements), on a device."""
    path, _, name = path.partition("#")
    with open(HERE / path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        entry = header[name or next(key for key in header if key != "__metadata__")]
        begin, end = entry["data_offsets"]
        file.seek(begin, 1)
        elements = bytearray(file.read(end - begin))
    dtype = SAFETENSORS[entry["dtype"]]
    flat = torch.frombuffer(elements, dtype=dtype) if elements else torch.empty(0, dtype=dtype)
    return flat.reshape(entry["shape"]).to(device(where))
)py",
                     {"device"}});
    table.push_back({"save", R"py(
def save(tensor, path):
    """Writes a tensor to a .npy file, or to its place in a .npz, named from beside this one; bfloat16 as float32."""
    file, _, name = str(path).partition("#")
    tensor = tensor.cpu()
    array = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
    if not name:
        numpy.save(HERE / file, array)
        return
    others = dict(numpy.load(HERE / file)) if (HERE / file).exists() else {}
    numpy.savez(HERE / file, **{**others, name: array})
)py"});
    table.push_back({"show", R"py(
def show(name, tensor):
    """A line of one output, as the workbench prints its probes."""
    values = tensor.double() if tensor.numel() else tensor
    numbers = values[~torch.isnan(values)]
    sizes = "×".join(str(size) for size in tensor.shape) or "scalar"
    seen = "no elements"
    if tensor.numel() == 1:
        seen = f"{values.item():.6g}"
    elif numbers.numel():
        seen = f"min {numbers.min():.6g}  max {numbers.max():.6g}  mean {numbers.mean():.6g}"
    print(f"{name}  {seen}  {str(tensor.dtype).removeprefix('torch.')} {sizes}")
)py"});
}

const std::vector<PythonHelper>& pythonHelpers() {
    static const std::vector<PythonHelper> all = [] {
        std::vector<PythonHelper> table;
        for (auto* add : {addFileHelpers, addArrayHelpers, addLayerHelpers, addSequenceHelpers}) add(table);
        return table;
    }();
    return all;
}

std::vector<const PythonHelper*> helpersFor(const std::set<std::string>& names) {
    const std::vector<PythonHelper>& all = pythonHelpers();
    std::set<std::string_view> wanted;
    const std::function<void(std::string_view)> want = [&](std::string_view name) {
        if (!wanted.insert(name).second) return;
        for (const PythonHelper& helper : all)
            if (helper.name == name)
                for (const std::string_view called : helper.calls) want(called);
    };
    for (const std::string& name : names) want(name);
    std::vector<const PythonHelper*> out;
    for (const PythonHelper& helper : all)
        if (wanted.contains(helper.name)) out.push_back(&helper);
    return out;
}

} // namespace twb::pytorch
