set -e
dunlin-surveillance record --domain 0 --folder recordings --keep-size 20GB &
dunlin-surveillance route --inner 0 --outer 1 &
dunlin-surveillance camera --pattern --encoding mjpeg --camera-id front --domain 0 &
dunlin-surveillance monitor --name gate --domain 1
